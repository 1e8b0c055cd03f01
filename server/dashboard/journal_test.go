package dashboard_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// A journal's entries are shown, and make the past of a name.
func TestJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		past := time.Now().Add(-2 * time.Minute)
		b := open(t, &dashboard.Options{Journal: written{
			{At: past.Add(30 * time.Second), Event: journal.Revoked, Name: "invoice:42", Owner: "web-1:7", Token: 8, Held: 20 * time.Second, Reason: "stuck <b>since</b> noon"},
			{At: past.Add(10 * time.Second), Event: journal.Granted, Name: "invoice:42", Owner: "web-1:7", Token: 8, Waited: 3 * time.Second},
			{At: past, Event: journal.Skipped, Name: "nightly", Owner: "web-2:9"},
		}})
		body := b.shows("/events", "stuck &lt;b&gt;since", "skipped", "web-2:9", "after 3.0 s")
		if strings.Contains(body, "There is no journal") {
			t.Error("with a journal the page says that there is none")
		}
		body = b.shows("/events?what=skipped", "nightly")
		if strings.Contains(body, "invoice:42") {
			t.Error("?what=skipped shows what was granted")
		}
		answer, err := b.http.Get(b.url("/lock?name=invoice:42"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, body := read(t, answer); !strings.Contains(body, "web-1:7") || !strings.Contains(body, "revoked: stuck &lt;b&gt;") || !strings.Contains(body, "20 s") {
			t.Errorf("the lock's page does not tell who held it:\n%s", body)
		}
	})
}

// A journal that takes long to be read, as for a name with few entries, is read for a
// twentieth of the time at most, however many watch.
func TestJournalIsSpared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := slowJournal{takes: 100 * time.Millisecond, asked: new(atomic.Int64)}
		b := open(t, &dashboard.Options{Journal: j})
		b.hold("invoice:42")
		began := time.Now()
		for time.Since(began) < 1500*time.Millisecond {
			b.shows("/lock?name=invoice:42", "invoice:42")
			time.Sleep(10 * time.Millisecond)
		}
		if got, most := j.asked.Load(), 1+int64(time.Since(began)/(20*j.takes)); got < 1 || got > most {
			t.Errorf("it was read %d times, want at least once and at most %d times", got, most)
		}
	})
}

// Many who look at different pages make few at a time.
func TestPagesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := slowJournal{takes: time.Second, asked: new(atomic.Int64)}
		b := open(t, &dashboard.Options{Journal: j})
		names := make([]string, 24)
		for i := range names {
			names[i] = fmt.Sprintf("invoice:%d", i)
			b.hold(names[i])
		}
		b.shows("/locks", names...)
		began := time.Now()
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() { b.shows("/lock?name="+name, name) })
		}
		all.Wait()
		if took := time.Since(began); took < 6*time.Second || j.asked.Load() < 24 {
			t.Errorf("24 pages of a second each were made in %v, want 4 at a time; read %d times", took, j.asked.Load())
		}
	})
}

// A journal that can't be read is said to be.
func TestJournalGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, &dashboard.Options{Journal: brokenJournal{}})
		b.shows("/events", "The journal can't be read", "no journal today")
		b.shows("/jobs", "no jobs today")
		b.hold("invoice:42")
		b.shows("/?span=day", "The sums of the journal can't be read", "no hours today")
	})
}
