package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within %v: %s", patience, what)
}

// faulty is a store whose journal can be broken.
type faulty struct {
	driver.Store
	fail  atomic.Pointer[error] // what every call of the journal says
	after atomic.Bool           // it says so when it has run
	jobs  atomic.Bool           // it is what is remembered of jobs that is broken
	hang  atomic.Pointer[chan struct{}]
	calls atomic.Int64
}

func (f *faulty) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if prefix := map[bool]string{true: "job_", false: "journal_"}[f.jobs.Load()]; !strings.HasPrefix(call.Script.Name, prefix) {
		return f.Store.Eval(ctx, call)
	}
	f.calls.Add(1)
	if hang := f.hang.Load(); hang != nil {
		<-*hang // whatever ctx says
	}
	err := f.fail.Load()
	if err == nil || f.after.Load() {
		reply, failed := f.Store.Eval(ctx, call)
		if err == nil {
			return reply, failed
		}
	}
	return nil, *err
}

func (f *faulty) breaks(err error) { f.fail.Store(&err) }
func (f *faulty) mends()           { f.fail.Store(nil) }

func open(t *testing.T) *faulty {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &faulty{Store: store}
}

var quiet = slog.New(slog.DiscardHandler)

func newWriter(t *testing.T, store driver.Store, o journal.Options) *journal.Writer {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quiet
	}
	w := journal.NewWriter(store, &o)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// flush writes what was noted, however busy this machine is.
func flush(t *testing.T, w *journal.Writer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func all(t *testing.T, entries iter.Seq2[journal.Entry, error]) []journal.Entry {
	t.Helper()
	var list []journal.Entry
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func read(t *testing.T, store driver.Store, q journal.Query) []journal.Entry {
	t.Helper()
	return all(t, journal.Read(t.Context(), store, q))
}

func take(t *testing.T, client *holdfast.Client, name string) *holdfast.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := client.Mutex(name).Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func told(list []journal.Entry) string {
	var words []string
	for _, e := range list {
		words = append(words, string(e.Event)+" "+e.Name)
	}
	return strings.Join(words, ", ")
}

// What a Client does is in the journal when it and the Writer are closed: who waited,
// who held and for how long, how it ended, and when, by the server's clock.
func TestJournalOfAClient(t *testing.T) {
	t.Parallel()
	store := open(t)
	began := time.Now()
	w := newWriter(t, store, journal.Options{Owner: "A"})
	a := holdfast.New(store, &holdfast.Options{Owner: "A", TTL: time.Minute, OnEvent: w.OnEvent})
	other := newWriter(t, store, journal.Options{Owner: "B"})
	b := holdfast.New(store, &holdfast.Options{Owner: "B", TTL: time.Minute, OnEvent: other.OnEvent})
	first := take(t, a, "n")
	go func() {
		until(t, "B waits", func() bool {
			s, err := admin.Of(a).Inspect(t.Context(), "n")
			return err == nil && len(s.Waiters) == 1
		})
		_ = first.Release()
	}()
	second := take(t, b, "n")
	sem, err := b.Semaphore("s", 3).Acquire(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	_ = sem.Release()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	_ = b.Close() // B holds n still
	flush(t, w)
	flush(t, other)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	list := read(t, store, journal.Query{Name: "n"})
	byOwner := map[string][]journal.Entry{}
	for _, e := range list {
		byOwner[e.Owner] = append(byOwner[e.Owner], e)
		if e.Uncertainty > patience || e.At.Before(began.Add(-e.Uncertainty)) || e.At.After(time.Now().Add(e.Uncertainty)) {
			t.Errorf("%s at %v ± %v, want between %v and now", e.Event, e.At, e.Uncertainty, began)
		}
	}
	if got, want := told(byOwner["A"]), "granted n, released n"; got != want {
		t.Errorf("A: got %s, want %s", got, want)
	}
	if got, want := told(byOwner["B"]), "asked n, granted n, released n"; got != want {
		t.Fatalf("B: got %s, want %s", got, want)
	}
	granted, closed := byOwner["B"][1], byOwner["B"][2]
	if granted.Token != second.Token() || granted.Waited <= 0 || closed.Cause != holdfast.Closed || closed.Held <= 0 {
		t.Errorf("got %+v and %+v, want token %d, and how long it waited and held", granted, closed, second.Token())
	}
	shared := read(t, store, journal.Query{Prefix: "s"})
	if told(shared) != "granted s, released s" || shared[0].Kind != holdfast.KindSemaphore || shared[1].Kind != holdfast.KindSemaphore {
		t.Errorf("got %+v, want the semaphore's", shared)
	}
	r, err := journal.Audit(journal.Read(t.Context(), store, journal.Query{}), time.Time{})
	if err != nil || r.Verdict == journal.Refuted || r.Verdict == journal.Unproven && r.Uncertainty <= journal.MaxUncertainty || r.Leases != 2 || r.Shared != 1 {
		t.Errorf("got %+v, %v, want proved of two leases, if this machine was not too busy to know the time", r, err)
	}
}

// Pages, ranges, order and limits.
func TestJournalIsRead(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond, Batch: 300})
	const n = 1203
	for i := range n {
		w.Note(journal.Entry{Event: journal.Skipped, Name: fmt.Sprintf("x:%d", i%3), Token: int64(i), Reason: "held by\nan \"other\" | ünïcode"})
	}
	flush(t, w)
	list := read(t, store, journal.Query{})
	if len(list) != n {
		t.Fatalf("got %d, want %d", len(list), n)
	}
	for i, e := range list {
		if e.Token != int64(i) || e.Seq != int64(i) || e.Reason != "held by_an \"other\" | ünïcode" || e.ID == "" {
			t.Fatalf("entry %d: got %+v", i, e)
		}
	}
	back := read(t, store, journal.Query{Newest: true})
	if len(back) != n || back[0].ID != list[n-1].ID || back[n-1].ID != list[0].ID {
		t.Errorf("newest first: got %d entries", len(back))
	}
	one := read(t, store, journal.Query{Name: "x:1", Newest: true, Limit: 7})
	if len(one) != 7 || one[0].Token != 1201 || one[6].Token != 1201-18 {
		t.Errorf("got %d, want the newest 7 of a name", len(one))
	}
	if rest := read(t, store, journal.Query{After: list[1000].ID}); len(rest) != n-1001 || rest[0].Token != 1001 {
		t.Errorf("after: got %d, want %d", len(rest), n-1001)
	}
	if got := read(t, store, journal.Query{Since: time.Now().Add(time.Hour)}); len(got) != 0 {
		t.Errorf("since an hour ahead: got %d", len(got))
	}
	if got := read(t, store, journal.Query{Until: list[0].At.Add(-time.Hour)}); len(got) != 0 {
		t.Errorf("until an hour ago: got %d", len(got))
	}
	if got := read(t, store, journal.Query{Since: list[0].At.Add(-time.Hour), Until: time.Now().Add(time.Hour)}); len(got) != n {
		t.Errorf("in between: got %d, want %d", len(got), n)
	}
	if got := read(t, store, journal.Query{KeyPrefix: holdfast.NoPrefix}); len(got) != 0 {
		t.Errorf("of another prefix: got %d", len(got))
	}
	if got := read(t, store, journal.Query{Name: "y"}); len(got) != 0 {
		t.Errorf("of another name: got %d", len(got))
	}
}

// The stream is capped.
func TestJournalIsCapped(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond, MaxLen: 100})
	for range 1000 {
		w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
	}
	flush(t, w)
	if got := len(read(t, store, journal.Query{})); got > 300 { // a server trims whole nodes
		t.Errorf("got %d entries, want about 100", got)
	}
}

// While Redis refuses, entries are kept; those that do not fit are counted, and when
// Redis takes entries again it is told how many are missing, and where. The lock
// knows nothing of it.
func TestJournalDropsAndTells(t *testing.T) {
	t.Parallel()
	store := open(t)
	store.breaks(driver.ServerError("OOM command not allowed when used memory > 'maxmemory'."))
	w := newWriter(t, store, journal.Options{Every: time.Millisecond, Buffer: 10, Owner: "A"})
	client := holdfast.New(store, &holdfast.Options{OnEvent: w.OnEvent, Logger: quiet})
	for range 50 {
		if err := take(t, client, "n").Release(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Close(); err != nil { // all events have come
		t.Fatal(err)
	}
	if got, want := w.Dropped(), int64(90); got != want {
		t.Fatalf("dropped: got %d, want %d", got, want)
	}
	store.mends()
	until(t, "it is written", func() bool { return len(read(t, store, journal.Query{})) == 11 })
	w.Note(journal.Entry{Event: journal.Skipped, Name: "later"})
	flush(t, w)
	list := read(t, store, journal.Query{})
	e := list[10]
	if e.Event != journal.Dropped || e.N != 90 || e.Held <= 0 || e.Seq != 100 || list[11].Name != "later" {
		t.Errorf("got %+v and then %s, want that 90 were dropped, and what came later", e, told(list[11:]))
	}
	r, err := journal.Audit(journal.Read(t.Context(), store, journal.Query{}), time.Time{})
	if err != nil || r.Verdict != journal.Unproven || r.Missing != 90 || !r.Holes[0].Reported {
		t.Errorf("got %+v, %v, want not proved: 90 are missing", r, err)
	}
}

// An answer that is lost makes a batch come twice; who reads sees it once, in either
// order.
func TestJournalWrittenTwice(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	w.Note(journal.Entry{Event: journal.Skipped, Name: "first"})
	until(t, "it is written", func() bool { return len(read(t, store, journal.Query{})) == 1 })
	store.after.Store(true)
	store.breaks(io.ErrUnexpectedEOF)
	calls := store.calls.Load()
	for range 5 {
		w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
	}
	until(t, "it was tried three times", func() bool { return store.calls.Load() >= calls+3 })
	store.mends()
	w.Note(journal.Entry{Event: journal.Skipped, Name: "last"})
	flush(t, w)
	want := "skipped first, skipped n, skipped n, skipped n, skipped n, skipped n, skipped last"
	if got := told(read(t, store, journal.Query{})); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := read(t, store, journal.Query{Newest: true}); len(got) != 7 || got[0].Name != "last" {
		t.Errorf("newest first: got %s", told(got))
	}
}

// A store that hangs for ever keeps nobody: not the lock, not Close.
func TestJournalOfAStoreThatHangs(t *testing.T) {
	t.Parallel()
	store := open(t)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	store.hang.Store(&hang)
	w := newWriter(t, store, journal.Options{Every: time.Millisecond})
	for range 10 {
		w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
	}
	until(t, "it is written", func() bool { return store.calls.Load() > 0 })
	began := time.Now()
	err := w.Close()
	if err == nil || !strings.Contains(err.Error(), "10 entries were not written") {
		t.Errorf("got %v, want that 10 were not written", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("Close took %v, want two seconds or so", took)
	}
	if got := store.calls.Load(); got > 2 {
		t.Errorf("calls: got %d, want that they do not pile up", got)
	}
}

// It is said once that it can't be written, with the right that is lacking, and once
// that it can again.
func TestJournalSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	store := open(t)
	store.breaks(driver.ServerError("NOPERM User app has no permissions to run the 'xadd' command"))
	var said clienttest.Logbook
	w := newWriter(t, store, journal.Options{Every: time.Millisecond, Logger: said.Logger()})
	w.Note(journal.Entry{Event: journal.Skipped, Name: "n"})
	until(t, "it was tried three times", func() bool { return store.calls.Load() >= 3 })
	store.mends()
	until(t, "it is said that it is well", func() bool { return strings.Contains(said.String(), "written again") })
	if text := said.String(); strings.Count(text, "can't be written") != 1 || !strings.Contains(text, "+xadd") {
		t.Errorf("got %s, want one line that names the right", text)
	}
	for _, err := range journal.Read(t.Context(), &refusing{store}, journal.Query{}) {
		if _, ok := errors.AsType[driver.ServerError](err); !ok || !strings.Contains(err.Error(), "+xrange") {
			t.Errorf("got %v, want the server's word and the right", err)
		}
	}
}

type refusing struct{ driver.Store }

func (refusing) Eval(context.Context, driver.Call) ([]string, error) {
	return nil, driver.ServerError("ERR ACL failure in script: User app has no permissions to run the 'xrange' command")
}

// What the Client itself had to drop is a hole, too.
func TestJournalOfDroppedEvents(t *testing.T) {
	t.Parallel()
	store := open(t)
	w := newWriter(t, store, journal.Options{})
	w.OnEvent(holdfast.Granted{Name: "n", Token: 1, Kind: holdfast.KindMutex, At: time.Now()})
	w.OnEvent(holdfast.Dropped{N: 7})
	w.OnEvent(holdfast.Granted{Name: "n", Token: 9, Kind: holdfast.KindMutex, At: time.Now()})
	flush(t, w)
	r, err := journal.Audit(journal.Read(t.Context(), store, journal.Query{}), time.Time{})
	if err != nil || r.Verdict != journal.Unproven || r.Missing != 7 || w.Dropped() != 7 {
		t.Errorf("got %+v, %v, want 7 missing", r, err)
	}
}
