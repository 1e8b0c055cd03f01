package embedded_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/driver"
)

// What a Client tells of its process is shown beside what it holds and waits for, cut
// and cleaned; who tells nothing is shown without; and Close takes it away.
func TestDetails(t *testing.T) {
	store := open(t)
	a := clientOf(t, store, holdfast.Options{Owner: "a", Details: &holdfast.Details{
		Host: "web-3", PID: 4121, User: "alice", Program: "backup", Command: "backup\x1b[2J --all", Note: strings.Repeat("ä", 200),
	}})
	b := clientOf(t, store, holdfast.Options{Owner: "b", Details: &holdfast.Details{User: "bob"}})
	silent := clientOf(t, store, holdfast.Options{Owner: "c"})
	lock(t, a.Mutex("x"))
	waits(t, b.Mutex("x").Lock)
	lock(t, silent.Mutex("y"))

	var state *admin.State
	until(t, "both are told", func() bool {
		var err error
		if state, err = admin.Of(silent).Inspect(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		return state.Holder.Details != nil && len(state.Waiters) == 1 && state.Waiters[0].Details != nil
	})
	want := holdfast.Details{Host: "web-3", PID: 4121, User: "alice", Program: "backup", Command: "backup_[2J --all", Note: strings.Repeat("ä", 128)}
	if got := *state.Holder.Details; got != want {
		t.Errorf("holder: got %+v, want %+v", got, want)
	}
	if got, want := *state.Waiters[0].Details, (holdfast.Details{User: "bob"}); got != want {
		t.Errorf("waiter: got %+v, want %+v", got, want)
	}
	found, err := admin.Of(silent).Survey(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	s := diagnose.Survey(found, nil)
	if got := s.Names[0].Reasons[0].Sentence; !strings.HasPrefix(got, "held by a (alice, pid 4121 on web-3) for ") {
		t.Errorf("got %q, want who that is", got)
	}
	if got := s.Names[1].Holder.Details; got != nil {
		t.Errorf("got %+v of a Client without Options.Details, want nothing", got)
	}
	if a := s.Names[0]; a.Holder.Client == "" || a.Waiters[0].Client == "" || a.Holder.Client == a.Waiters[0].Client {
		t.Errorf("clients: got %q and %q, want two names", a.Holder.Client, a.Waiters[0].Client)
	}

	if got := countKeys(t, store, "holdfast/client:*"); got != 2 {
		t.Errorf("details of %d clients are written, want 2", got)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "those of a are gone", func() bool { return countKeys(t, store, "holdfast/client:*") == 1 })
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v and it is not so that %s", soon, what)
		}
	}
}

func countKeys(t *testing.T, store driver.Store, match string) (n int) {
	t.Helper()
	for _, err := range store.Scan(t.Context(), match) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// stalled is a store that never answers what is about details, even when its context
// ends.
type stalled struct {
	driver.Store
	asked atomic.Int64
	end   chan struct{}
}

func (s *stalled) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if strings.HasPrefix(call.Script.Name, "details") {
		s.asked.Add(1)
		<-s.end
	}
	return s.Store.Eval(ctx, call)
}

func (s *stalled) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	for _, call := range calls {
		if strings.HasPrefix(call.Script.Name, "details") {
			<-s.end
		}
	}
	return s.Store.EvalAll(ctx, calls)
}

// overtaken is a store in which the second note of details overtakes the first, if that
// is let go before the first has come back.
type overtaken struct {
	driver.Store
	notes  atomic.Int32
	second chan struct{}
}

func (s *overtaken) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if call.Script.Name != "details_note" {
		return s.Store.Eval(ctx, call)
	}
	switch s.notes.Add(1) {
	case 1:
		select {
		case <-s.second:
		case <-time.After(100 * time.Millisecond):
		}
	case 2:
		defer close(s.second)
	}
	return s.Store.Eval(ctx, call)
}

// What a Client told of itself first does not come last.
func TestDetailsComeInOrder(t *testing.T) {
	store := &overtaken{Store: open(t), second: make(chan struct{})}
	a := clientOf(t, store, holdfast.Options{Owner: "a", Details: &holdfast.Details{User: "alice"}})
	if _, err := lock(t, a.Mutex("x")).Export(); err != nil {
		t.Fatal(err)
	}
	b := clientOf(t, store.Store, holdfast.Options{Owner: "b"})
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if state, err := admin.Of(b).Inspect(t.Context(), "x"); err != nil || state.Holder == nil || !state.Holder.Exported {
		t.Errorf("got %+v, %v; want an exported hold", state, err)
	}
}

// Of what was exported nobody is told that it renews, or that it should have, also after
// its Client has gone; who adopts it renews it.
func TestExportedIsReported(t *testing.T) {
	store := open(t)
	a := clientOf(t, store, holdfast.Options{Owner: "a", TTL: 10 * time.Second, Details: &holdfast.Details{User: "alice"}})
	b := clientOf(t, store, holdfast.Options{Owner: "b"})
	text, err := lock(t, a.Mutex("x")).Export()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	look := func() *admin.State {
		state, err := admin.Of(b).Inspect(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	state := look()
	if h := state.Holder; h == nil || !h.Exported || h.Details == nil || h.Details.User != "alice" {
		t.Fatalf("got %+v, want an exported hold of alice", h)
	}
	for _, left := range []time.Duration{9000, 3000, 900} {
		state.Holder.Held, state.Holder.Remaining = 9*time.Second, left*time.Millisecond
		d := diagnose.State(state, nil)[0]
		if want := "exported: no process renews it by itself, and it ends in " + state.Holder.Remaining.String(); d.Code != diagnose.HeldHealthy || !strings.Contains(d.Sentence, want) {
			t.Errorf("with %v left: got %s: %s, want %s", state.Holder.Remaining, d.Code, d.Sentence, want)
		}
	}
	if _, err := b.Adopt(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if state := look(); state.Holder.Exported || !strings.HasSuffix(diagnose.State(state, nil)[0].Sentence, "renews on time") {
		t.Errorf("adopted: got %+v", state.Holder)
	}
}

// Details that nobody answers keep no lock waiting, fail none, and keep no look from
// its answer.
func TestDetailsKeepNobodyWaiting(t *testing.T) {
	store := &stalled{Store: open(t), end: make(chan struct{})}
	c := holdfast.New(store, &holdfast.Options{TTL: time.Minute, Details: &holdfast.Details{User: "alice"}})
	t.Cleanup(func() { close(store.end) })
	began := time.Now()
	for range 100 {
		lease, err := c.Mutex("x").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	lock(t, c.Mutex("x"))
	state, err := admin.Of(c).Inspect(t.Context(), "x")
	if err != nil || state.Holder == nil || state.Holder.Details != nil {
		t.Errorf("got %+v, %v, want a holder without details", state, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(began); took > soon/2 {
		t.Errorf("took %v", took)
	}
	until(t, "it was tried", func() bool { return store.asked.Load() > 0 })
}

// While one note of details is not answered, those behind it become one, which has all of them.
func TestDetailsDoNotPileUp(t *testing.T) {
	const n = 20
	store := &stalled{Store: open(t), end: make(chan struct{})}
	a := clientOf(t, store, holdfast.Options{Owner: "a", TTL: time.Minute, Details: &holdfast.Details{}})
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("x", i)
		if _, err := lock(t, a.Mutex(names[i])).Export(); err != nil {
			t.Fatal(err)
		}
	}
	close(store.end)
	b := clientOf(t, store.Store, holdfast.Options{Owner: "b"})
	for _, name := range names {
		until(t, name+" is told as exported", func() bool {
			state, err := admin.Of(b).Inspect(t.Context(), name)
			return err == nil && state.Holder != nil && state.Holder.Exported
		})
	}
	if got := store.asked.Load(); got > n/2 {
		t.Errorf("%d notes for %d leases; want about two", got, n)
	}
}

// Without Options.Details nothing is written.
func TestNoDetails(t *testing.T) {
	store := open(t)
	lock(t, clientOf(t, store, holdfast.Options{}).Mutex("x"))
	if got := countKeys(t, store, "holdfast/client:*"); got != 0 {
		t.Errorf("%d keys of details, want none", got)
	}
}

// What others write in the place of details is nothing, or is cleaned.
func TestHostileDetails(t *testing.T) {
	store := open(t)
	a := clientOf(t, store, holdfast.Options{Owner: "a"})
	runLua(t, store, "return redis.call('SET', 'holdfast/fence:{holdfast:x}', '1')")
	runLua(t, store, "return redis.call('SET', 'holdfast:x', 'aaaa.bbbb.15000|a', 'PX', 15000)")
	for text, want := range map[string]string{
		"":                           "",
		"{}":                         "",
		"[1":                         "",
		`{"pid":"x"}`:                "",
		`{"pid":-7}`:                 "",
		`{"user":"e\u001b[2Jv"}`:     "e_[2Jv",
		`{"user":"e\u202ev","x":[]}`: "e_v",
		`{"user":"` + strings.Repeat("x", 5000) + `"}`: "",
	} {
		runLua(t, store, "return redis.call('SET', 'holdfast/client:aaaa', ARGV[1])", text)
		state, err := admin.Of(a).Inspect(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got := state.Holder.Details; got == nil && want != "" || got != nil && got.User != want {
			t.Errorf("%.40s: got %+v, want user %q", text, got, want)
		}
	}
	runLua(t, store, "redis.call('DEL', 'holdfast/client:aaaa') return redis.call('LPUSH', 'holdfast/client:aaaa', '1')")
	if state, err := admin.Of(a).Inspect(t.Context(), "x"); err != nil || state.Holder.Details != nil {
		t.Errorf("a list: got %+v, %v, want no details", state, err)
	}
}
