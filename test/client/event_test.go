//go:build unix

package client_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// kinds are the events without those that come when they like: renewals, and
// looks at the line after the first.
func kinds(j *clienttest.Journal) (kinds []string) {
	for _, e := range j.All() {
		k := ""
		switch e.(type) {
		case holdfast.Queued:
			k = "queued"
		case holdfast.Granted:
			k = "granted"
		case holdfast.Released:
			k = "released"
		case holdfast.Lost:
			k = "lost"
		case holdfast.Recalled:
			k = "recalled"
		case holdfast.SubscriptionConfirmed:
			k = "listening"
		case holdfast.SubscriptionBroken:
			k = "deaf"
		}
		if k != "" && (k != "queued" || len(kinds) == 0 || kinds[len(kinds)-1] != k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func happened(t *testing.T, who string, j *clienttest.Journal, want ...string) {
	t.Helper()
	clienttest.Eventually(t, who+" tells all", func() bool { return len(kinds(j)) >= len(want) })
	got := kinds(j)
	for i, k := range want {
		if got[i] != k {
			t.Errorf("%s: got %v, want %v", who, got, want)
			return
		}
	}
	if len(got) > len(want) {
		t.Errorf("%s: got %v, want %v", who, got, want)
	}
}

// Two clients and one name: each tells its side, in order, with the figures.
func TestEventsOfAHandOver(t *testing.T) {
	const name, held = "told", 100 * time.Millisecond
	server := redistest.Start(t, redistest.Options{})
	ja, jb := &clienttest.Journal{}, &clienttest.Journal{}
	a := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long, OnEvent: ja.Note})
	b := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "B", TTL: clienttest.Long, OnEvent: jb.Note})
	first := clienttest.Take(t, a, name)
	began := time.Now()
	second := clienttest.Asking(t.Context(), a.Mutex(name))
	happened(t, "A", ja, "granted", "listening")
	waiting := clienttest.Asking(t.Context(), b.Mutex(name))
	happened(t, "A", ja, "granted", "listening", "recalled")
	happened(t, "B", jb, "listening", "queued")
	for time.Since(began) < held {
		time.Sleep(time.Millisecond)
	}
	clienttest.GiveBack(t, first)
	turn := second.Lease(t) // waited in the queue before the recall
	clienttest.GiveBack(t, turn)
	lease := waiting.Lease(t)
	clienttest.GiveBack(t, lease)
	happened(t, "A", ja, "granted", "listening", "recalled", "released", "granted", "released")
	happened(t, "B", jb, "listening", "queued", "granted", "released")

	queued := clienttest.EventsOf[holdfast.Queued](jb)[0]
	if queued.Name != name || queued.Position != 0 || queued.Holder != "A" || queued.Remaining <= 0 || queued.Remaining > clienttest.Long {
		t.Errorf("queued: got %+v, want the head behind A", queued)
	}
	for j, leases := range map[*clienttest.Journal][]*holdfast.Lease{ja: {first, turn}, jb: {lease}} {
		for i, l := range leases {
			if got := clienttest.EventsOf[holdfast.Granted](j)[i]; got.Name != name || got.Token != l.Token() {
				t.Errorf("granted: got %+v, want token %d", got, l.Token())
			}
			if got := clienttest.EventsOf[holdfast.Released](j)[i]; got.Name != name || got.Token != l.Token() {
				t.Errorf("released: got %+v, want token %d", got, l.Token())
			}
		}
	}
	if got := clienttest.EventsOf[holdfast.Released](ja)[0].Held; got < held-10*time.Millisecond {
		t.Errorf("held: got %v, want %v at least", got, held)
	}
	if got := clienttest.EventsOf[holdfast.Granted](jb)[0].Waited; got <= 0 || got > time.Since(began) {
		t.Errorf("waited: got %v", got)
	}
	if got := clienttest.EventsOf[holdfast.Recalled](ja)[0].Name; got != name {
		t.Errorf("recalled: got %q, want %q", got, name)
	}
}

// Renewals are told, and so is what ends a lease: the key deleted, the key taken
// by another, no server, and one that does not answer.
func TestEventsOfLoss(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	server := redistest.Start(t, redistest.Options{})
	j := &clienttest.Journal{}
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: ttl, OnEvent: j.Note})
	lose := func(name string, cause holdfast.Cause, harm func()) {
		t.Helper()
		lease := clienttest.Take(t, client, name)
		renewed := clienttest.More[holdfast.Renewed](t, j, 2)
		if got := renewed[len(renewed)-1]; got.Name != name || got.Remaining <= 0 || got.Remaining > ttl {
			t.Errorf("renewed: got %+v", got)
		}
		harm()
		clienttest.Closed(t, "the lease of "+name+" is over", lease.Done())
		clienttest.LostBy(t, lease.Err(), cause)
		clienttest.Eventually(t, "it is told", func() bool { return len(clienttest.EventsOf[holdfast.Lost](j)) > 0 })
		lost := clienttest.EventsOf[holdfast.Lost](j)
		got := lost[len(lost)-1]
		if got.Held <= 0 || time.Since(got.At) < 0 || time.Since(got.At) > clienttest.Patience {
			t.Errorf("lost: got %+v, want how long it was held, and when it ended", got)
		}
		got.Held, got.At = 0, time.Time{}
		if want := (holdfast.Lost{Name: name, Owner: client.Owner(), Token: lease.Token(), Cause: cause, Kind: holdfast.KindMutex}); got != want {
			t.Errorf("lost: got %+v, want %+v", got, want)
		}
		clienttest.LostBy(t, lease.Release(), cause)
		j.Mu.Lock()
		j.Events = nil
		j.Mu.Unlock()
	}
	lose("deleted", holdfast.Gone, func() { server.MustDo(t, "DEL", clienttest.LockKey("deleted")) })
	lose("taken", holdfast.Taken, func() { server.MustDo(t, "SET", clienttest.LockKey("taken"), "another") })
	fails := func(name string) {
		t.Helper()
		clienttest.Eventually(t, "a renewal fails", func() bool { return len(clienttest.EventsOf[holdfast.RenewFailed](j)) > 0 })
		failed := clienttest.EventsOf[holdfast.RenewFailed](j)[0]
		if failed.Name != name || failed.Err == nil || failed.Remaining > ttl {
			t.Errorf("failed: got %+v", failed)
		}
	}
	lose("absent", holdfast.Expired, func() {
		server.Kill()
		fails("absent")
	})
	if err := server.Restart(true); err != nil {
		t.Fatal(err)
	}
	lose("silent", holdfast.Expired, func() {
		if err := server.Freeze(); err != nil {
			t.Fatal(err)
		}
		fails("silent")
	})
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
}

// A subscription that breaks and comes back is told.
func TestEventsOfSubscription(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	j := &clienttest.Journal{}
	client := clienttest.Open(t, server.URL(), holdfast.Options{Owner: "A", TTL: clienttest.Long, OnEvent: j.Note})
	server.MustDo(t, "SET", clienttest.LockKey("n"), "x")
	waiting := clienttest.Asking(t.Context(), client.Mutex("n"))
	happened(t, "A", j, "listening", "queued")
	server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub")
	clienttest.Eventually(t, "it is told", func() bool { return len(clienttest.EventsOf[holdfast.SubscriptionConfirmed](j)) >= 2 })
	if broken := clienttest.EventsOf[holdfast.SubscriptionBroken](j); len(broken) != 1 || broken[0].Err == nil {
		t.Errorf("got %+v, want one break with an error", broken)
	}
	server.MustDo(t, "DEL", clienttest.LockKey("n"))
	clienttest.GiveBack(t, waiting.Lease(t))
}

// A hook that blocks holds up no lock, is called by one goroutine only, and
// learns how much it missed.
func TestEventsDropped(t *testing.T) {
	const turns = 1500 // two events each; 1,024 are kept
	server := redistest.Start(t, redistest.Options{})
	j, block := &clienttest.Journal{}, make(chan struct{})
	var inside atomic.Int32
	client := clienttest.Open(t, server.URL(), holdfast.Options{TTL: clienttest.Long, OnEvent: func(e holdfast.Event) {
		if inside.Add(1) > 1 {
			t.Error("two calls at a time")
		}
		<-block
		j.Note(e)
		inside.Add(-1)
	}})
	for range turns {
		clienttest.GiveBack(t, clienttest.Take(t, client, "n"))
	}
	if got := len(j.All()); got != 0 {
		t.Fatalf("the hook took %d events while it was blocked", got)
	}
	close(block)
	clienttest.Eventually(t, "what was kept is told", func() bool { return len(j.All()) >= 1024 })
	last := clienttest.Take(t, client, "n") // with which the loss is told
	clienttest.Eventually(t, "the last turn is told", func() bool {
		granted := clienttest.EventsOf[holdfast.Granted](j)
		return granted[len(granted)-1].Token == last.Token()
	})
	dropped := clienttest.EventsOf[holdfast.Dropped](j)
	if len(dropped) != 1 {
		t.Fatalf("got %+v, want one word about what was dropped", dropped)
	}
	kept := len(clienttest.EventsOf[holdfast.Granted](j)) + len(clienttest.EventsOf[holdfast.Released](j)) - 1
	if got, want := dropped[0].N, 2*turns-kept; got != want {
		t.Errorf("dropped: got %d, want %d", got, want)
	}
	clienttest.GiveBack(t, last)
}
