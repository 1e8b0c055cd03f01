package dashboard_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// Without a journal what is seen becomes events: who asked, got and gave back, after
// how long; and each hold stands in the name's past.
func TestSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		b.shows("/events", "There is no journal")
		lease := b.hold("invoice:42")
		b.shows("/events?q=invoice", "granted", "alice")
		b.wait("invoice:42", "bob")
		b.shows("/events?q=bob", "asked")
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		b.shows("/events?what=released", "alice", "held for")
		b.shows("/lock?name=invoice:42", "released", "The journal has no entry of this name")
	})
}

// A holder that stops renewing and is gone when its time is over was lost, and one that
// is late is a problem before.
func TestSeenLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		b.shows("/", "Overview")
		// A tenure that nobody renews, as a frozen process leaves it.
		id := "AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.12000|frozen:7"
		for _, command := range [][]string{{"SET", "holdfast/fence:{holdfast:report}", "1", "PX", "60000"}, {"SET", "holdfast:report", id, "PX", "5000"}} {
			if _, err := b.store.Do(command...); err != nil {
				t.Fatal(err)
			}
		}
		b.shows("/problems", "report", "frozen:7")
		b.shows("/locks", ">renewals-late: frozen:7 ") // a narrow column begins with the code
		b.shows("/events?what=lost", "frozen:7", "expired")
	})
}

// JournalIn shows what a Writer has written, and the jobs beside it.
func TestJournalIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		b := on(t, store, &dashboard.Options{Journal: dashboard.JournalIn(store, "")})
		b.shows("/events", "The journal is empty")
		writer := journal.NewWriter(store, &journal.Options{Owner: "carol"})
		t.Cleanup(func() { writer.Close() })
		client := holdfast.New(store, &holdfast.Options{Owner: "carol", OnEvent: writer.OnEvent})
		t.Cleanup(func() { client.Close() })
		lease, err := client.Mutex("nightly").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		writer.Note(journal.Entry{Event: journal.Started, Name: "nightly", Token: lease.Token(), Client: client.ID()})
		b.shows("/events", "The newest entries of the journal", "carol", "started")
		b.shows("/jobs", "nightly", "running")
		writer.Note(journal.Entry{Event: journal.Ended, Name: "nightly", Token: lease.Token(), Held: time.Second, Code: 9})
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		b.shows("/jobs", "failed", ">9<")
		b.shows("/events?what=ended", "exit code 9")
		b.shows("/lock?name=nightly", "carol", "released")
	})
}

// The record of a job is read at another time than its lock: a job that has just ended is not
// shown as killed, but one that was killed is.
func TestJobEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		b := on(t, store, &dashboard.Options{Journal: dashboard.JournalIn(store, "")})
		writer := journal.NewWriter(store, nil)
		t.Cleanup(func() { writer.Close() })
		client := newClient(t, store, "carol")
		lease, err := client.Mutex("nightly").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		writer.Note(journal.Entry{Event: journal.Started, Name: "nightly", Token: lease.Token(), Client: client.ID()})
		b.shows("/jobs", "nightly", "running")
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			time.Sleep(50 * time.Millisecond)
			if _, _, body := b.get("/jobs"); !strings.Contains(body, "running") {
				t.Fatalf("a job that has just ended:\n%s", body)
			}
		}
		b.shows("/jobs", string(journal.JobNoEnd))
	})
}
