package journal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// follower collects what Follow yields.
type follower struct {
	entries chan journal.Entry
	errs    chan error
}

func follow(t *testing.T, store driver.Store, q journal.Query) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{make(chan journal.Entry, 10000), make(chan error, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range journal.Follow(ctx, store, q) {
			if err != nil {
				f.errs <- err
				continue
			}
			f.entries <- e
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

func (f *follower) next(t *testing.T) journal.Entry {
	t.Helper()
	select {
	case e := <-f.entries:
		return e
	case err := <-f.errs:
		t.Fatalf("got %v, want an entry", err)
	case <-time.After(patience):
		t.Fatal("no entry came")
	}
	panic("not reached")
}

func (f *follower) err(t *testing.T) error {
	t.Helper()
	select {
	case err := <-f.errs:
		return err
	case <-time.After(patience):
		t.Fatal("no error came")
	}
	panic("not reached")
}

// Follow yields what comes, from now or from a moment on, each once and in order,
// over an outage; that is told once.
func TestFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	began := time.Now().Add(-time.Minute)
	w.Note(journal.Entry{Event: journal.Skipped, Name: "before"})
	until(t, "it is written", func() bool { return len(read(t, store, journal.Query{})) == 1 })

	calls := store.calls.Load()
	now := follow(t, store, journal.Query{Prefix: "n"})
	since := follow(t, store, journal.Query{Since: began})
	if got := since.next(t); got.Name != "before" {
		t.Errorf("got %s, want what came before", got.Name)
	}
	until(t, "both know where the end is", func() bool { return store.calls.Load() >= calls+3 })
	other := newWriter(t, store.Store, journal.Options{Every: time.Millisecond}) // for it nothing breaks
	other.Note(journal.Entry{Event: journal.Skipped, Name: "other"})
	for i := range 700 {
		other.Note(journal.Entry{Event: journal.Skipped, Name: "n", Token: int64(i)})
	}
	for i := range 350 {
		if got := now.next(t); got.Name != "n" || got.Token != int64(i) {
			t.Fatalf("got %+v, want number %d", got, i)
		}
	}
	store.breaks(errors.New("connection refused"))
	if err := since.err(t); !errors.Is(err, holdfast.ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
	calls = store.calls.Load()
	until(t, "it is tried again", func() bool { return store.calls.Load() >= calls+6 })
	other.Note(journal.Entry{Event: journal.Skipped, Name: "n", Token: 700})
	store.mends()
	for i := 350; i <= 700; i++ {
		select {
		case got := <-now.entries:
			if got.Token != int64(i) {
				t.Fatalf("got %+v, want number %d", got, i)
			}
		case <-time.After(patience):
			t.Fatalf("number %d did not come", i)
		}
	}
	if n := len(since.errs); n > 0 {
		t.Errorf("%d more errors were told of one outage", n)
	}
}

// A stream that lost its end, as by a failover to a replica that lagged, is told, and
// what comes then follows.
func TestFollowOverALostEnd(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	f := follow(t, store, journal.Query{Since: time.Now().Add(-time.Minute)})
	w.Note(journal.Entry{Event: journal.Skipped, Name: "first"})
	if got := f.next(t); got.Name != "first" {
		t.Fatalf("got %+v", got)
	}
	del := driver.NewScript("del", "return redis.call('DEL', KEYS[1])")
	if _, err := store.Store.Eval(t.Context(), driver.Call{Script: del, Keys: []string{"holdfast/journal:holdfast:"}}); err != nil {
		t.Fatal(err)
	}
	if err := f.err(t); !errors.Is(err, journal.ErrRewound) {
		t.Errorf("got %v, want ErrRewound", err)
	}
	w.Note(journal.Entry{Event: journal.Skipped, Name: "second"})
	if got := f.next(t); got.Name != "second" {
		t.Errorf("got %+v, want the second", got)
	}
}

// What is no entry of ours is told and passed over.
func TestReadForeignEntries(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{})
	w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
	flush(t, w)
	add := driver.NewScript("add", "return redis.call('XADD', KEYS[1], '*', 'name', 'n', 'seq', 'x')")
	if _, err := store.Eval(t.Context(), driver.Call{Script: add, Keys: []string{"holdfast/journal:holdfast:"}}); err != nil {
		t.Fatal(err)
	}
	var entries, bad int
	for _, err := range journal.Read(t.Context(), store, journal.Query{Name: "n"}) {
		switch {
		case err == nil:
			entries++
		case errors.Is(err, journal.ErrEntry):
			bad++
		default:
			t.Fatal(err)
		}
	}
	if entries != 1 || bad != 1 {
		t.Errorf("got %d entries and %d that are none, want one each", entries, bad)
	}
}

// Typical is the median of the newest holds, and nothing where there are few.
func TestTypical(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	for i := range 4 {
		w.Note(journal.Entry{Event: journal.Released, Name: "few", Token: int64(i % 2), Held: time.Second})
	}
	for _, held := range []time.Duration{9, 1, 8, 2, 7} {
		w.Note(journal.Entry{Event: journal.Released, Name: "n", Held: held * time.Second})
	}
	flush(t, w)
	if got, ok := journal.Typical(t.Context(), store, "", "n"); got != 7*time.Second || !ok {
		t.Errorf("got %v, %v, want 7s", got, ok)
	}
	if got, ok := journal.Typical(t.Context(), store, "", "none"); ok {
		t.Errorf("got %v of a name that is not in the journal", got)
	}
	store.breaks(errors.New("connection refused"))
	if got, ok := journal.Typical(t.Context(), store, "", "n"); ok {
		t.Errorf("got %v from a server that does not answer", got)
	}
}

// TypicalHolds knows all names from one reading.
func TestTypicalHolds(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	const names = 100
	for i := range 3 * names {
		name := fmt.Sprint("n", i%names)
		w.Note(journal.Entry{Event: journal.Granted, Name: name, Token: 1})
		w.Note(journal.Entry{Event: journal.Released, Name: name, Token: 1, Held: time.Duration(i%names+1) * time.Second})
	}
	for range 3 { // an exported hold is not counted
		w.Note(journal.Entry{Event: journal.Released, Name: "n7", Token: 1, Cause: holdfast.Exported})
	}
	flush(t, w)
	before := store.calls.Load()
	typical := journal.TypicalHolds(store, "")
	for i := range names {
		if got, ok := typical(fmt.Sprint("n", i)); got != time.Duration(i+1)*time.Second || !ok {
			t.Fatalf("n%d: got %v, %v, want %d s", i, got, ok, i+1)
		}
	}
	if got, ok := typical("never"); ok {
		t.Errorf("got %v of a name that is not in the journal", got)
	}
	if calls := store.calls.Load() - before; calls != 2 {
		t.Errorf("%d calls for all names, want 2 pages of 500 entries", calls)
	}
}
