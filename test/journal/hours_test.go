// Package journal_test tests package journal with real servers and processes: what is written when
// processes are killed or Redis is away, and what Audit and Jobs say of it.
package journal_test

import (
	"context"
	"io"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/journal"
)

// sum adds up the hours: a test may run across the end of one.
func sum(t *testing.T, store driver.Store) (all journal.Hour, n int) {
	t.Helper()
	hours, _, err := journal.Hours(t.Context(), store, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hours {
		if i > 0 && !hours[i-1].Begin.Before(h.Begin) {
			t.Errorf("%v comes after %v", h.Begin, hours[i-1].Begin)
		}
		all.Granted, all.Lost, all.Waited, all.Longest = all.Granted+h.Granted, all.Lost+h.Lost, all.Waited+h.Waited, max(all.Longest, h.Longest)
	}
	return all, len(hours)
}

// The sums have each grant and loss once, also if the answer to a batch is lost and it comes
// again and again. What is no loss is not among the losses.
func TestHoursAreSummedOnce(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	note := func() {
		w.OnEvent(holdfast.Granted{Name: "n", Token: 1, Waited: 2 * time.Second, At: time.Now()})
		w.OnEvent(holdfast.Granted{Name: "n", Token: 2, Waited: 4 * time.Second, At: time.Now()})
		w.OnEvent(holdfast.LeaseExported{Name: "n", Token: 1, At: time.Now()})
		for _, cause := range []holdfast.Cause{holdfast.Expired, holdfast.Gone, holdfast.Taken, holdfast.Revoked, holdfast.Stolen, holdfast.Closed, holdfast.MaxHold} {
			w.OnEvent(holdfast.Lost{Name: "n", Token: 2, Cause: cause, At: time.Now()})
		}
	}
	note()
	flush(t, w)
	store.after.Store(true) // the store does it and does not answer
	store.breaks(io.ErrUnexpectedEOF)
	calls := store.calls.Load()
	note()
	until(t, "it was tried three times", func() bool { return store.calls.Load() >= calls+3 })
	store.mends()
	note()
	flush(t, w)
	got, n := sum(t, store.Store)
	want := journal.Hour{Granted: 6, Lost: 9, Waited: 18 * time.Second, Longest: 4 * time.Second}
	if got != want || n > 2 {
		t.Errorf("got %+v in %d hours, want %+v", got, n, want)
	}
}

// A copy of a batch that comes late, after smaller parts of it, adds only what is new. Times that
// can't be right make no hours of their own, and old hours go.
func TestHoursAreBounded(t *testing.T) {
	t.Parallel()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	const stream, sums = "holdfast/journal:holdfast:", "holdfast/sums:{holdfast/journal:holdfast:}"
	if keyspace.Slot(stream) != keyspace.Slot(sums) {
		t.Error("a Cluster refuses a script with keys of two slots")
	}
	for _, command := range [][]string{{"HSET", sums, "1", "5 5 5 5"}, {"HSET", sums, "2000000000", "5 5 5 5"}, {"HSET", sums, "junk", "junk"}} {
		if _, err := store.Do(command...); err != nil {
			t.Fatal(err)
		}
	}
	write := func(from, to int, at time.Time) {
		t.Helper()
		args := []string{"1000", "60000"}
		for seq := from; seq < to; seq++ {
			args = append(args, "w", strconv.Itoa(seq), "0", strconv.FormatInt(at.UnixMicro(), 10), "0", "granted", "n", "o", "1", `{"waited":1000}`)
		}
		keys := []string{stream, sums, sums + ":w"}
		if _, err := store.Eval(t.Context(), driver.Call{Script: script.JournalWrite, Keys: keys, Args: args}); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	write(0, 5, now)
	write(0, 10, now)
	write(5, 10, now)
	write(10, 11, now.Add(-9*24*time.Hour))
	write(11, 12, now.Add(1000*time.Hour))
	got, n := sum(t, store)
	if want := (journal.Hour{Granted: 11, Waited: 11 * time.Millisecond, Longest: time.Millisecond}); got != want || n > 2 {
		t.Errorf("got %+v in %d hours, want %+v", got, n, want)
	}
	for key, most := range map[string]int64{sums: 192 * 3600 * 1000, sums + ":w": 600_000} {
		if ttl, err := store.Do("PTTL", key); err != nil || ttl.(int64) <= 0 || ttl.(int64) > most {
			t.Errorf("ttl of %s: got %v, %v, want at most %d ms", key, ttl, err, most)
		}
	}
	if left, err := store.Do("HLEN", sums); err != nil || left.(int64) > 2 {
		t.Errorf("hours: got %v, %v, want that the old ones are gone", left, err)
	}
}

// slots notes the slots of the keys of each script.
type slots struct {
	driver.Store
	mu   sync.Mutex
	seen [][]int
}

func (s *slots) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of []int
	for _, key := range call.Keys {
		of = append(of, keyspace.Slot(key))
	}
	s.seen = append(s.seen, of)
	return s.Store.Eval(ctx, call)
}

// A Cluster refuses a script with keys of two slots, so all of a journal's are in one: also if
// the prefix has a hash tag.
func TestSumsAreInTheSlotOfTheStream(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", holdfast.NoPrefix, "app:", "{app}:"} {
		store := &slots{Store: open(t)}
		w := newWriter(t, store, journal.Options{Prefix: prefix})
		w.OnEvent(holdfast.Granted{Name: "n", Token: 1, At: time.Now()})
		flush(t, w)
		store.mu.Lock()
		seen := store.seen
		store.mu.Unlock()
		most := 0
		for _, of := range seen {
			if most = max(most, len(of)); len(slices.Compact(of)) > 1 {
				t.Errorf("prefix %q: keys in the slots %d", prefix, of)
			}
		}
		if most < 2 {
			t.Errorf("prefix %q: no script with several keys was seen", prefix)
		}
	}
}
