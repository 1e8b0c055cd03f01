package dashboard_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// The tile counts the losses of ten minutes by the times of the journal, whenever the page was
// opened, and its link lists as many. An export, or a lease that its program ended, is none.
func TestLostIsAsManyAsItsList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		b := on(t, store, &dashboard.Options{Journal: dashboard.JournalIn(store, "")})
		writer := journal.NewWriter(store, &journal.Options{Owner: "curl"})
		t.Cleanup(func() { writer.Close() })
		client := holdfast.New(store, &holdfast.Options{Owner: "curl", OnEvent: writer.OnEvent})
		t.Cleanup(func() { client.Close() })
		lose := func(causes ...holdfast.Cause) {
			for i, cause := range causes {
				writer.OnEvent(holdfast.Lost{Name: fmt.Sprint("lost:", i), Token: int64(i), Cause: cause, Held: time.Second, At: time.Now()})
			}
		}
		lose(holdfast.Gone, holdfast.Gone)
		time.Sleep(11 * time.Minute)
		for i := range 7 {
			lease, err := client.Mutex(fmt.Sprint("invoice:", i)).Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := lease.Export(); err != nil {
				t.Fatal(err)
			}
		}
		lose(holdfast.Expired, holdfast.Gone, holdfast.Taken, holdfast.Expired)
		lose(holdfast.Stolen, holdfast.Revoked, holdfast.Closed, holdfast.MaxHold)
		time.Sleep(time.Minute)

		const list = "/events?what=lost&since=10m"
		counts := func(lost int) {
			t.Helper()
			b.shows("/", fmt.Sprintf(` Lost</span><span class="tile-value">%d</span>`, lost), `href="/events?what=lost&amp;since=10m"`)
			body := b.shows(list, "Last ten minutes")
			if got := strings.Count(body, "<tr data-key="); got != lost {
				t.Errorf("GET %s: got %d rows, want %d as the tile says:\n%s", list, got, lost, body)
			}
		}
		counts(4)
		if got := strings.Count(b.shows("/events?what=exported", "invoice:0"), "<tr data-key="); got != 7 {
			t.Errorf("exports: got %d rows, want 7", got)
		}
		if got := strings.Count(b.shows("/events?what=lost", "lost:0"), "<tr data-key="); got != 6 {
			t.Errorf("losses of any time: got %d rows, want 6", got)
		}
		lose(holdfast.Expired)
		time.Sleep(time.Minute)
		counts(5)
		time.Sleep(11 * time.Minute) // nobody looks: the pages are read again
		counts(0)
	})
}

// The charts of a day and a week are of the hours that the journal has summed up, and say how
// far back those reach.
func TestHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		b := on(t, store, &dashboard.Options{Journal: dashboard.JournalIn(store, "")})
		lease := b.hold("invoice:42")
		b.shows("/?span=day", "The journal has no sums yet")
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		writer := journal.NewWriter(store, &journal.Options{Owner: "carol", MaxLen: 1})
		t.Cleanup(func() { writer.Close() })
		for range 30 { // hours
			for i := range 5 {
				writer.OnEvent(holdfast.Granted{Name: "n", Token: int64(i), Waited: time.Duration(i) * time.Second, At: time.Now()})
			}
			writer.OnEvent(holdfast.Lost{Name: "n", Token: 4, Cause: holdfast.Gone, At: time.Now()})
			time.Sleep(time.Hour)
		}
		const future = "999999" // what a clock left that was wrong: nothing is drawn up to there
		if _, err := store.Do("HSET", "holdfast/sums:{holdfast/journal:holdfast:}", future, "5 5 5 5"); err != nil {
			t.Fatal(err)
		}
		const reach = "They began <time" // after a day in which nobody locked anything, too
		b.shows("/?span=day", reach, "In all 120. ", "On average 2.0 s, at most 4.0 s. ", "In all 24. ", `data-hourly="yes"`, `aria-current="true">One day`)
		b.shows("/?span=week", reach, "In all 150. ", "In all 30. ", `aria-current="true">One week`)
		if body := b.shows("/", `aria-current="true">Five minutes`, "Hand-overs per second"); strings.Contains(body, "data-hourly") {
			t.Error("the charts of minutes are said to be of hours")
		}
	})
}
