package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/driver"
)

// soon is how long is waited for what must happen.
const soon = 30 * time.Second

func clientOf(t *testing.T, store driver.Store, o holdfast.Options) *holdfast.Client {
	t.Helper()
	c := holdfast.New(store, &o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// runLua runs Lua as another program might.
func runLua(t *testing.T, store driver.Store, lua string, args ...string) {
	t.Helper()
	if _, err := store.Eval(t.Context(), driver.Call{Script: driver.NewScript("other", lua), Args: args}); err != nil {
		t.Fatal(err)
	}
}

// waits keeps a call waiting until the test ends.
func waits(t *testing.T, lock func(context.Context) (*holdfast.Lease, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if lease, err := lock(ctx); err == nil {
			_ = lease.Release()
		}
	}()
	t.Cleanup(func() { cancel(); <-over })
}

// surveyed looks until the names have these codes first, in order of names: "" stands
// for none.
func surveyed(t *testing.T, c *holdfast.Client, want ...string) *diagnose.Report {
	t.Helper()
	var got []string
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		found, err := admin.Of(c).Survey(t.Context(), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		s := diagnose.Survey(found, nil)
		got = got[:0]
		for _, n := range s.Names {
			code := ""
			if len(n.Reasons) > 0 {
				code = string(n.Reasons[0].Code)
			}
			got = append(got, n.Name+" "+code)
		}
		if strings.Join(got, ",") == strings.Join(want, ",") {
			return s
		}
	}
	t.Fatalf("got %q, want %q", got, want)
	return nil
}

// Two processes that each want what the other has are told of, and nobody else: with
// who has what, and the order that ends it.
func TestSurveyDeadlock(t *testing.T) {
	store := open(t)
	a, b := clientOf(t, store, holdfast.Options{Owner: "a"}), clientOf(t, store, holdfast.Options{Owner: "b"})
	lock(t, a.Mutex("x"))
	lock(t, b.Mutex("y"))
	lock(t, a.Mutex("z"))
	waits(t, a.Mutex("y").Lock)
	waits(t, b.Mutex("x").Lock)
	s := surveyed(t, a, "x possible-deadlock", "y possible-deadlock", "z held-healthy")
	d := s.Names[1].Problem()
	if want := "a holds x and waits for y; b holds y and waits for x"; d.Sentence != want {
		t.Errorf("got %q, want %q", d.Sentence, want)
	}
	if want := "holdfast revoke --tenure " + s.Names[0].Holder.Hash + " --reason TEXT x breaks the circle"; !strings.Contains(d.Action, want) {
		t.Errorf("got %q, want %q", d.Action, want)
	}
	if got := s.Counts; got.Held != 3 || got.Waiting != 2 || got.Problems != 2 {
		t.Errorf("counted %+v, want 3 held, 2 waiting, 2 problems", got)
	}
}

// lock takes a name until the test ends.
func lock(t *testing.T, m *holdfast.Mutex) *holdfast.Lease {
	t.Helper()
	lease, err := m.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// Readers that stay keep a writer, and the reader behind it, waiting.
func TestSurveyReadersBlockWriter(t *testing.T) {
	store := open(t)
	o := holdfast.Options{TTL: 4 * time.Second}
	r, w, behind := clientOf(t, store, o), clientOf(t, store, o), clientOf(t, store, o)
	if _, err := r.RWMutex("x").RLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	waits(t, w.RWMutex("x").Lock)
	surveyed(t, r, "x readers-block-writer")
	waits(t, behind.RWMutex("x").RLock)
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		d := surveyed(t, r, "x readers-block-writer").Names[0].Problem()
		if strings.Contains(d.Sentence, "1 more wait behind it") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %q, want that another waits behind the writer", d.Sentence)
		}
	}
}

// What other states look like in a real store: a cool-down, an order, a leader, a
// free name, keys of other programs, one of ours that nobody renews.
func TestSurveyStates(t *testing.T) {
	store := open(t)
	a := clientOf(t, store, holdfast.Options{Owner: "a"})
	m := a.Mutex("cool")
	m.MinHold = time.Hour
	if err := lock(t, m).Release(); err != nil {
		t.Fatal(err)
	}
	if err := lock(t, a.Mutex("free")).Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Election("lead").Campaign(t.Context(), "10.0.0.3:80"); err != nil {
		t.Fatal(err)
	}
	lock(t, a.Mutex("revoke"))
	state, err := admin.Of(a).Inspect(t.Context(), "revoke")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Of(a).Revoke(t.Context(), "revoke", state.Holder.Hash, "db-3 is being drained"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"foreign", "late", "noexpiry"} {
		runLua(t, store, "return redis.call('SET', ARGV[1], '1')", "holdfast/fence:{holdfast:"+name+"}")
	}
	runLua(t, store, "return redis.call('SET', 'holdfast:foreign', 'somebody', 'PX', 600000)")
	runLua(t, store, "return redis.call('SET', 'holdfast:noexpiry', 'somebody')")
	runLua(t, store, "return redis.call('SET', 'holdfast:late', 'aaaa.bbbb.900000|c', 'PX', 200000)")
	s := surveyed(t, a, "cool cooldown", "foreign unmanaged", "free ", "late renewals-late", "lead held-healthy", "noexpiry no-ttl", "revoke revoking")
	if got := s.Names[4]; got.Term == 0 || !strings.HasPrefix(got.Reasons[0].Sentence, "led by 10.0.0.3:80") {
		t.Errorf("got term %d, %q, want a term and its leader", got.Term, got.Reasons[0].Sentence)
	}
	if got, want := s.Names[6].Holder.Revoked, "db-3 is being drained"; got != want {
		t.Errorf("revoked: got %q, want %q", got, want)
	}
	if got, want := s.Names[5].Key, "holdfast:noexpiry"; got != want {
		t.Errorf("key: got %q, want %q", got, want)
	}
	one, err := admin.Of(a).Survey(t.Context(), "rev", 0)
	if err != nil || len(one.Names) != 1 || one.Names[0].Name != "revoke" {
		t.Errorf("Survey of rev: got %+v, %v, want revoke alone", one, err)
	}
}

// An order is about one tenure, and a term about one leader: the next holder of the
// name has nothing of it.
func TestSurveyOrdersOfOthers(t *testing.T) {
	store := open(t)
	a := clientOf(t, store, holdfast.Options{Owner: "a"})
	lock(t, a.Mutex("x"))
	runLua(t, store, "return redis.call('SET', 'holdfast/revocation:{holdfast:x}', ARGV[1])", "revoked aaaa.bbbb.15000|a|"+strings.Repeat("gone ", 20))
	runLua(t, store, "return redis.call('SET', 'holdfast/term:{holdfast:x}', '7 0 |aaaa.bbbb.15000|a')")
	s := surveyed(t, a, "x held-healthy")
	if n := s.Names[0]; n.Holder.Revoked != "" || n.Term != 0 {
		t.Errorf("got revoked %q, term %d, want neither", n.Holder.Revoked, n.Term)
	}
}

// Ten thousand names, as long and as hostile as can be, are looked at in one go; what is
// no name of ours is left out.
func TestSurveyOfTenThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	store := open(t)
	a := clientOf(t, store, holdfast.Options{Owner: "a"})
	const n = 10_000
	runLua(t, store, `
		for i = 1, tonumber(ARGV[1]) do
			local l = 'holdfast:' .. string.format("%05d", i) .. ARGV[2]
			redis.call('SET', 'holdfast/fence:{' .. l .. '}', '1')
			if i % 2 == 0 then redis.call('SET', l, 'aaaa.bbbb.15000|a', 'PX', 600000) end
		end
		redis.call('SET', 'holdfast/fence:{holdfast:x}y', '1')
		return 1`, fmt.Sprint(n), strings.Repeat("\u202e'; rm -rf $(x) \"", 26))
	found, err := admin.Of(a).Survey(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	s := diagnose.Survey(found, nil)
	if got := s.Counts; len(s.Names) != n || got.Held != n/2 || got.Free != n/2 || got.Unreadable != 0 {
		t.Fatalf("got %d names, %+v, want %d, half of them held", len(s.Names), got, n)
	}
	for i, name := range s.Names {
		if want := fmt.Sprintf("%05d", i+1); !strings.HasPrefix(name.Name, want) || len(name.Name) < 499 {
			t.Fatalf("name %d is %q, want one that begins with %s", i, name.Name, want)
		}
	}
}

// A name that can't be looked at is told with its error, and the others are seen; what
// nobody answers at all is an error.
func TestSurveyTrouble(t *testing.T) {
	store := open(t)
	a := clientOf(t, store, holdfast.Options{Owner: "a", TTL: time.Second})
	lock(t, a.Mutex("x"))
	runLua(t, store, "return redis.call('LPUSH', 'holdfast/queue:{holdfast:broken}', 'x')")
	runLua(t, store, "return redis.call('SET', 'holdfast/fence:{holdfast:broken}', '1')")
	s := surveyed(t, a, "broken store-error", "x held-healthy")
	if _, said := errors.AsType[driver.ServerError](s.Names[0].Err); !said || s.Counts.Unreadable != 1 {
		t.Errorf("got %v, counts %+v, want what the server said, and one that is not seen", s.Names[0].Err, s.Counts)
	}
	silent := clientOf(t, &partly{Store: store, fails: func(driver.Call) bool { return true }}, holdfast.Options{})
	if _, err := admin.Of(silent).Survey(t.Context(), "", 0); !errors.Is(err, holdfast.ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := admin.Of(a).Survey(ctx, "", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that of the context", err)
	}
}

// partly is a store that fails some calls.
type partly struct {
	driver.Store
	fails func(driver.Call) bool
}

var errCut = errors.New("the connection was cut")

func (p *partly) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if p.fails(call) {
		return nil, errCut
	}
	return p.Store.Eval(ctx, call)
}

func (p *partly) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = p.Eval(ctx, call)
	}
	return results
}
