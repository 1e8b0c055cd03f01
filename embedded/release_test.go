package embedded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

// repeating is a store whose client library may send a call twice.
type repeating struct {
	driver.Store
	says  bool // what it promises
	twice bool // it does send unlock twice, and the first answer is lost
	fails bool // the first unlock runs, and its answer is an error
}

func (s *repeating) SendsOnce() bool { return s.says }

func (s *repeating) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if call.Script.Name == "unlock" || call.Script.Name == "shared_unlock" {
		switch {
		case s.twice:
			_, _ = s.Store.Eval(ctx, call)
		case s.fails:
			s.fails = false
			_, _ = s.Store.Eval(ctx, call)
			return nil, errors.New("connection reset")
		}
	}
	return s.Store.Eval(ctx, call)
}

// deleteAll deletes all keys of a store, as DEL does.
var deleteAll = driver.NewScript("delete", `for _, k in ipairs(redis.call('KEYS', '*')) do redis.call('DEL', k) end return 1`)

func kinds(c *holdfast.Client) map[string]func(context.Context) (*holdfast.Lease, error) {
	return map[string]func(context.Context) (*holdfast.Lease, error){
		"mutex":    c.Mutex("m").Lock,
		"permit":   func(ctx context.Context) (*holdfast.Lease, error) { return c.Semaphore("s", 2).Acquire(ctx, 1) },
		"reader":   c.RWMutex("r").RLock,
		"writer":   c.RWMutex("w").Lock,
		"election": func(ctx context.Context) (*holdfast.Lease, error) { return c.Election("e").Campaign(ctx, "me") },
	}
}

func TestReleaseOfADeletedLock(t *testing.T) {
	for name, test := range map[string]struct {
		store   repeating
		deletes bool
		want    error
	}{
		"released":                {repeating{says: true}, false, nil},
		"deleted":                 {repeating{says: true}, true, holdfast.ErrLost},
		"deleted, may repeat":     {repeating{says: false}, true, nil},
		"sent twice by a library": {repeating{says: false, twice: true}, false, nil},
		"sent twice by us":        {repeating{says: true, fails: true}, false, nil},
	} {
		store, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		test.store.Store = store
		client := holdfast.New(&test.store, &holdfast.Options{TTL: time.Minute})
		defer client.Close()
		for kind, lock := range kinds(client) {
			fails := test.store.fails
			lease, err := lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if test.deletes {
				if _, err := store.Eval(t.Context(), driver.Call{Script: deleteAll}); err != nil {
					t.Fatal(err)
				}
			}
			err = lease.Release()
			if !errors.Is(err, test.want) {
				t.Errorf("%s, %s: got %v, want %v", name, kind, err, test.want)
			}
			if lost, ok := errors.AsType[*holdfast.LostError](err); ok && (lost.Cause != holdfast.Gone || lost.Token != lease.Token()) {
				t.Errorf("%s, %s: got %+v, want Gone and token %d", name, kind, lost, lease.Token())
			}
			test.store.fails = fails
		}
	}
}

// late is a store that answers no renewal, and on which an unlock takes long.
type late struct {
	*embedded.Store
	unlock func() // runs before it
}

var errLate = errors.New("no answer")

func (s *late) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	switch call.Script.Name {
	case "renew":
		return nil, errLate
	case "unlock":
		s.unlock()
	}
	return s.Store.Eval(ctx, call)
}

func (s *late) EvalAll(_ context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i := range results {
		results[i].Err = errLate
	}
	return results
}

// A server whose clock is a little faster ends the key before the unlock comes, which was
// sent in time: nobody knows that another had the name before Release.
func TestReleaseThatRunsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		slow := &late{Store: store}
		client := holdfast.New(slow, &holdfast.Options{TTL: time.Minute})
		defer client.Close()
		lease, err := client.Mutex("m").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(lease.Remaining() - 100*time.Millisecond)
		came := 0
		slow.unlock = func() {
			came++
			time.Sleep(200 * time.Millisecond)
			_, _ = store.Eval(context.Background(), driver.Call{Script: deleteAll})
		}
		if err := lease.Release(); err != nil || came != 1 {
			t.Errorf("release: got %v by %d unlocks, want nil by 1", err, came)
		}
		slow.unlock = func() {}
	})
}

// crowded is a store on which 700 dead clients wait whenever a lease is released.
type crowded struct {
	*embedded.Store
	gone bool // and its key has been deleted
	runs int
}

// dead puts waiters into Q that differ from an id in their client, which does not listen.
var dead = driver.NewScript("dead", `for i = 1, 700 do
  redis.call('ZADD', KEYS[3], tostring(i), (string.gsub(ARGV[1], '^[^.]+', 'dead' .. i)))
end
if ARGV[2] == 'gone' then redis.call('DEL', KEYS[1]) end
return 1`)

func (s *crowded) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if name := call.Script.Name; name == "unlock" || name == "shared_unlock" {
		if s.runs++; s.runs == 1 {
			what := ""
			if s.gone {
				what = "gone"
			}
			if _, err := s.Store.Eval(ctx, driver.Call{Script: dead, Keys: call.Keys, Args: []string{call.Args[0], what}}); err != nil {
				return nil, err
			}
		}
	}
	return s.Store.Eval(ctx, call)
}

// An unlock drops 500 dead waiters at most and answers again. By then shared_unlock has
// released the lease, and unlock has not: what it finds gone in its second run was lost.
func TestReleaseBesideTheDead(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	beside := &crowded{Store: store}
	client := holdfast.New(beside, &holdfast.Options{TTL: time.Minute})
	defer client.Close()
	for kind, lock := range kinds(client) {
		beside.runs, beside.gone = 0, false
		lease, err := lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil || beside.runs != 2 {
			t.Errorf("%s: got %v by %d unlocks, want nil by 2", kind, err, beside.runs)
		}
	}
	beside.runs, beside.gone = 0, true
	lease, err := client.Mutex("gone").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); !errors.Is(err, holdfast.ErrLost) || beside.runs != 2 {
		t.Errorf("a mutex that was deleted: got %v by %d unlocks, want ErrLost by 2", err, beside.runs)
	}
}

// Another client took the name: the cause says so.
func TestReleaseOfATakenLock(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	a, b := holdfast.New(store, nil), holdfast.New(store, nil)
	defer a.Close()
	defer b.Close()
	lease, err := a.Mutex("m").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Eval(t.Context(), driver.Call{Script: deleteAll}); err != nil {
		t.Fatal(err)
	}
	other, err := b.Mutex("m").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost, ok := errors.AsType[*holdfast.LostError](lease.Release())
	if !ok || lost.Cause != holdfast.Taken {
		t.Errorf("release: got %v, want taken", lost)
	}
	if err := other.Release(); err != nil {
		t.Errorf("release of the other: got %v, want nil", err)
	}
}

// belated is a store whose answer to a lock comes while the unlock is on its way.
type belated struct {
	*embedded.Store
	unlocking chan struct{} // nil: its answers come at once
}

func (s *belated) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	switch {
	case s.unlocking == nil:
	case call.Script.Name == "lock":
		reply, err := s.Store.Eval(ctx, call)
		<-s.unlocking
		return reply, err
	case call.Script.Name == "unlock":
		close(s.unlocking)
		time.Sleep(100 * time.Millisecond) // the cancel overtakes it
	}
	return s.Store.Eval(ctx, call)
}

// A lock was granted by a push before its own answer came, which says that it waits.
// To that answer the Client sends a cancel, and the unlock runs behind it.
func TestReleaseBehindACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		holder := holdfast.New(store, nil)
		defer holder.Close()
		slow := &belated{Store: store}
		waiter := holdfast.New(slow, nil)
		defer waiter.Close()
		for range 2 { // the first time it subscribes to its channel
			held, err := holder.Mutex("m").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, func() { _ = held.Release() })
			lease, err := waiter.Mutex("m").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(); err != nil {
				t.Errorf("release: got %v, want nil", err)
			}
			slow.unlocking = make(chan struct{})
		}
	})
}
