package admin_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
)

// fake is a store whose scripts are eval, and whose SCAN yields keys.
type fake struct {
	driver.Store
	eval    func(driver.Call) ([]string, error)
	keys    []string
	scan    error // after the keys
	hangs   bool  // it answers nothing until the end of the context
	details string
	cluster bool

	mu    sync.Mutex
	calls []driver.Call // but those about details
}

func (f *fake) Sharded() bool { return f.cluster }

func (f *fake) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if call.Script == script.DetailsInspect {
		return []string{"details", f.details}, nil
	}
	f.mu.Lock()
	call.Keys, call.Args = slices.Clone(call.Keys), slices.Clone(call.Args)
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	if f.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.eval(call)
}

func (f *fake) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, c := range calls {
		results[i].Reply, results[i].Err = f.Eval(ctx, c)
	}
	return results
}

func (f *fake) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, key := range f.keys {
			if !yield(key, nil) {
				return
			}
		}
		if f.hangs {
			<-ctx.Done()
			yield("", ctx.Err())
		} else if f.scan != nil {
			yield("", f.scan)
		}
	}
}

// scripted is a store that answers each script with one reply or error.
func scripted(answers map[*driver.Script]any) *fake {
	return &fake{eval: func(call driver.Call) ([]string, error) {
		switch answer := answers[call.Script].(type) {
		case []string:
			return answer, nil
		case error:
			return nil, answer
		}
		return nil, driver.ServerError("ERR no answer to " + call.Script.Name)
	}}
}

const (
	id     = "client.nonce.30000|me:1"
	denied = driver.ServerError("NOPERM No permissions to access a key")
)

var (
	hash    = keyspace.HashID(id)
	errGone = errors.New("connection refused")
	free    = state("", 7)
)

// state is the answer of mutex/inspect about a name with this holder.
func state(holder string, token int64, waiters ...string) []string {
	held := "0"
	if holder != "" {
		held = "1"
	}
	return append([]string{"state", "1700000000000000", holder, held, "9000", fmt.Sprint(token), fmt.Sprint(len(waiters) / 3), "", "", "", ""}, waiters...)
}

// shared is the answer of shared/inspect about a semaphore. It has holding holders and
// lists those with ids.
func shared(holding int, ids ...string) []string {
	reply := []string{"shared", "1700000000000000", "semaphore", "5", "2", "7", fmt.Sprint(holding), "0", fmt.Sprint(len(ids))}
	for _, one := range ids {
		id, _ := keyspace.ParseID(one)
		reply = append(reply, one, "9000", fmt.Sprint(id.Weight))
	}
	return reply
}

func TestInspectAsksForLess(t *testing.T) {
	for name, test := range map[string]struct {
		refused []int // the numbers of keys that the user may not read
		kind    holdfast.Kind
		calls   int
		size    int
		known   bool // the term and the revocation
		err     error
	}{
		"all rights":                      {kind: holdfast.KindMutex, calls: 1, size: 4, known: true},
		"no right to sizes":               {refused: []int{6}, kind: holdfast.KindMutex, calls: 2, known: true},
		"nor to revocations and terms":    {refused: []int{6, 5}, kind: holdfast.KindMutex, calls: 3},
		"nor to locks":                    {refused: []int{6, 5, 3}, calls: 3, err: denied},
		"a semaphore":                     {kind: holdfast.KindSemaphore, calls: 2, size: 5, known: true},
		"a semaphore without most rights": {refused: []int{6, 5}, kind: holdfast.KindSemaphore, calls: 4, size: 5, known: true},
		"a semaphore without its holders": {refused: []int{4}, kind: holdfast.KindSemaphore, calls: 2, err: denied},
	} {
		f := &fake{eval: func(call driver.Call) ([]string, error) {
			switch {
			case slices.Contains(test.refused, len(call.Keys)):
				return nil, denied
			case call.Script == script.SharedInspect:
				return shared(1, "client.nonce.30000.s2|me:1"), nil
			case test.kind == holdfast.KindSemaphore:
				return []string{"other kind", "semaphore", "5"}, nil
			}
			reply := state(id, 7)
			if len(call.Keys) == 6 {
				reply[10] = "4"
			}
			return reply, nil
		}}
		got, err := admin.New(f, nil).Inspect(t.Context(), "n")
		if len(f.calls) != test.calls || !errors.Is(err, test.err) {
			t.Errorf("%s: got %v after %d calls, want %v after %d", name, err, len(f.calls), test.err, test.calls)
		}
		if test.err != nil {
			continue
		}
		if got.Kind != test.kind || got.Size != test.size || got.Key != "holdfast:n" || got.Holder == nil || got.Holder.Owner != "me:1" {
			t.Errorf("%s: got %+v", name, got)
		}
		if known := got.Unreadable == nil; known != test.known {
			t.Errorf("%s: got Unreadable %v", name, got.Unreadable)
		}
	}
}

func TestInspectFails(t *testing.T) {
	for name, test := range map[string]struct {
		answer any
		want   error
		text   string
	}{
		"a refusal":       {driver.ServerError("ERR no"), driver.ServerError("ERR no"), "n: ERR no"},
		"another type":    {driver.ServerError("WRONGTYPE Operation"), driver.ServerError("WRONGTYPE Operation"), "another program or another kind"},
		"no connection":   {errGone, holdfast.ErrUnreachable, "connection refused"},
		"nonsense":        {[]string{"what"}, nil, "unexpected answer"},
		"a kind of kinds": {[]string{"other kind"}, nil, "unexpected answer"},
	} {
		f := scripted(map[*driver.Script]any{script.Inspect: test.answer, script.SharedInspect: test.answer})
		got, err := admin.New(f, nil).Inspect(t.Context(), "n")
		if got != nil || err == nil || !strings.Contains(err.Error(), test.text) || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: got %+v, %v, want an error with %q", name, got, err, test.text)
		}
	}
	_, err := admin.New(scripted(nil), nil).Inspect(t.Context(), "")
	if bad, ok := errors.AsType[*holdfast.NameError](err); !ok || bad.Name != "" {
		t.Errorf("no name: got %v, want a NameError", err)
	}
}

// A store that is silent is given up after the timeout; details are not waited for.
func TestInspectInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := admin.New(&fake{hangs: true}, &admin.Options{Timeout: 3 * time.Second}).Inspect(t.Context(), "n")
		if took := time.Since(began); !errors.Is(err, holdfast.ErrUnreachable) || took != 3*time.Second {
			t.Errorf("got %v after %v, want ErrUnreachable after 3s", err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := admin.New(&fake{hangs: true}, nil).Inspect(ctx, "n"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		time.Sleep(time.Minute)
	})
}

func TestInspectDetails(t *testing.T) {
	f := scripted(map[*driver.Script]any{script.Inspect: state(id, 7, "waiter.nonce.30000|you:2", "1699999999000000", "1")})
	f.details = `{"program":"billing","exported":["` + hash + `"]}`
	got, err := admin.New(f, nil).Inspect(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	if h := got.Holder; h.Details == nil || h.Details.Program != "billing" || !h.Exported {
		t.Errorf("got %+v, want a program that has given it away", h)
	}
	if w := got.Waiters[0]; w.Details == nil || w.Owner != "you:2" || w.Waited != time.Second || !w.Listening {
		t.Errorf("got %+v, want you:2 since 1s", w)
	}
}

func TestPrefixes(t *testing.T) {
	f := scripted(map[*driver.Script]any{script.Inspect: free})
	for prefix, want := range map[string]string{"": "holdfast:n", holdfast.NoPrefix: "n", "{u}": "{u}n"} {
		a := admin.New(f, &admin.Options{Prefix: prefix})
		if got, err := a.Inspect(t.Context(), "n"); err != nil || got.Key != want || a.Prefix()+"n" != want {
			t.Errorf("%q: got %+v, %v, want the key %q", prefix, got, err, want)
		}
	}
	for name, wrong := range map[string]func(){
		"no store":     func() { admin.New(nil, nil) },
		"no node":      func() { admin.NewQuorum("q/1/3-0123456789", nil, f, nil, f) },
		"a bad prefix": func() { admin.New(f, &admin.Options{Prefix: "a{"}) },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "holdfast: admin") {
					t.Errorf("%s: got panic %q", name, said)
				}
			}()
			wrong()
		}()
	}
}

// An Admin of a Client knows its prefix and which tenures are the Client's own.
func TestOf(t *testing.T) {
	f := scripted(nil)
	client := holdfast.New(f, &holdfast.Options{Prefix: "app:"})
	defer client.Close()
	a := admin.Of(client)
	if a.Prefix() != "app:" || a.Store() != driver.Store(f) {
		t.Errorf("got the prefix %q and the store %v", a.Prefix(), a.Store())
	}
	f.eval = func(driver.Call) ([]string, error) { return state(id, 7), nil }
	if got, err := a.Inspect(t.Context(), "n"); err != nil || got.Holder.Own || got.Key != "app:n" {
		t.Errorf("got %+v, %v, want a holder that is another's", got, err)
	}
}

func TestSurvey(t *testing.T) {
	keys := []string{"holdfast/fence:{holdfast:c}", "holdfast/fence:{holdfast:b}", "holdfast/fence:{holdfast:a}"}
	answers := func(call driver.Call) ([]string, error) {
		switch call.Keys[0] {
		case "holdfast:a":
			return state(id, 7), nil
		case "holdfast:b":
			return nil, driver.ServerError("WRONGTYPE Operation")
		}
		if call.Script == script.Inspect {
			return []string{"other kind", "semaphore", "5"}, nil
		}
		return shared(1, "client.nonce.30000.s2|me:1"), nil
	}
	f := &fake{keys: keys, eval: answers}
	s, err := admin.New(f, nil).Survey(t.Context(), "", 0)
	if err != nil || len(s.Names) != 3 {
		t.Fatalf("got %+v, %v, want three names", s, err)
	}
	if a := s.Names[0]; a.Name != "a" || a.Err != nil || a.Holder == nil || a.Holder.Owner != "me:1" {
		t.Errorf("got %+v, want a held by me:1", a)
	}
	if b := s.Names[1]; !errors.Is(b.Err, driver.ServerError("WRONGTYPE Operation")) || b.State == nil || b.Name != "b" || b.Key != "" {
		t.Errorf("got %+v, want b with its name and an error", b)
	}
	if c := s.Names[2]; c.Name != "c" || c.Err != nil || c.Kind != holdfast.KindSemaphore {
		t.Errorf("got %+v, want c, a semaphore", c)
	}
	if s, err := admin.New(f, nil).Survey(t.Context(), "", 3); err != nil || len(s.Names) != 3 {
		t.Errorf("at most three: got %+v, %v, want three names", s, err)
	}
	f.eval = nil
	if s, err := admin.New(f, nil).Survey(t.Context(), "", 2); s != nil || !errors.Is(err, admin.ErrTooMany) {
		t.Errorf("at most two: got %+v, %v, want ErrTooMany", s, err)
	}
	for name, test := range map[string]struct {
		err, want error
	}{
		"all unreachable": {errGone, holdfast.ErrUnreachable},
		"one answers":     {driver.ServerError("ERR no"), nil},
	} {
		f.eval = func(call driver.Call) ([]string, error) {
			if call.Keys[0] == "holdfast:b" {
				return nil, test.err
			}
			return nil, errGone
		}
		if s, err := admin.New(f, nil).Survey(t.Context(), "", 0); !errors.Is(err, test.want) || (s == nil) != (test.want != nil) {
			t.Errorf("%s: got %+v, %v, want %v", name, s, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.eval = func(call driver.Call) ([]string, error) { cancel(); return state(id, 7), nil }
	if s, err := admin.New(f, nil).Survey(ctx, "", 0); s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("left: got %+v, %v, want the end of the context", s, err)
	}
	f = &fake{}
	if s, err := admin.New(f, nil).Survey(t.Context(), "", 0); err != nil || len(s.Names) != 0 {
		t.Errorf("no names: got %+v, %v", s, err)
	}
}
