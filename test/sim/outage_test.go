package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/quorum"
)

// locks are all that wait for a name.
var locks = map[string]func(ctx context.Context, c *holdfast.Client) error{
	"Mutex": func(ctx context.Context, c *holdfast.Client) error { return second(c.Mutex("n").Lock(ctx)) },
	"try":   func(ctx context.Context, c *holdfast.Client) error { return second(c.Mutex("n").TryLock(ctx)) },
	"Owner": func(ctx context.Context, c *holdfast.Client) error {
		m := c.Mutex("n")
		m.Owner = "own"
		return second(m.Lock(ctx))
	},
	"Semaphore": func(ctx context.Context, c *holdfast.Client) error {
		return second(c.Semaphore("n", 3).Acquire(ctx, 1))
	},
	"reader":   func(ctx context.Context, c *holdfast.Client) error { return second(c.RWMutex("n").RLock(ctx)) },
	"writer":   func(ctx context.Context, c *holdfast.Client) error { return second(c.RWMutex("n").Lock(ctx)) },
	"Multi":    func(ctx context.Context, c *holdfast.Client) error { return second(c.Multi("n", "m").Lock(ctx)) },
	"Election": func(ctx context.Context, c *holdfast.Client) error { return second(c.Election("n").Campaign(ctx, "v")) },
}

func second[L any](_ L, err error) error { return err }

// A deadline that ends while the store does not answer says so, however short it is.
func TestOutageIsNotBusy(t *testing.T) {
	for name, lock := range locks {
		for _, wait := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
			t.Run(fmt.Sprint(name, " ", wait), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store, _ := embedded.Open(nil)
					connection := store.Connect()
					client := holdfast.New(connection, nil)
					defer client.Close()
					connection.Disconnect()
					outageEnds(t, wait, func(ctx context.Context) error { return lock(ctx, client) })
					connection.Reconnect()
				})
			})
		}
	}
}

// So it does on a quorum whose majority does not answer, and a name that is held there is busy.
func TestOutageOfAQuorum(t *testing.T) {
	for _, wait := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var connections [2][]*embedded.Connection
			var members []quorum.Member
			for i := range 3 {
				store, _ := embedded.Open(nil)
				for c := range connections {
					connections[c] = append(connections[c], store.Connect())
				}
				members = append(members, quorum.Member{Address: fmt.Sprint("n", i), Store: store})
			}
			id, err := quorum.Init(t.Context(), "q", true, members...)
			if err != nil {
				t.Fatal(err)
			}
			join := func(c []*embedded.Connection, owner string) *holdfast.QuorumClient {
				return holdfast.NewQuorum(id, &holdfast.QuorumOptions{Owner: owner}, c[0], c[1], c[2])
			}
			client, other := join(connections[0], "a"), join(connections[1], "b")
			defer client.Close()
			defer other.Close()
			lock := func(ctx context.Context) error { return second(client.Mutex("n").Lock(ctx)) }
			for _, c := range connections[0][:2] {
				c.Disconnect()
			}
			outageEnds(t, wait, lock)
			for _, c := range connections[0][:2] {
				c.Reconnect()
			}
			time.Sleep(time.Minute)
			lease, err := other.Mutex("n").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)   // a renewal takes the node that the lock did not need
			connections[0][0].Disconnect() // a minority
			busyEnds(t, wait, "b", lock)
			connections[0][0].Reconnect()
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A name that another holds is busy, also if the deadline is shorter.
func TestBusyIsNoOutage(t *testing.T) {
	for name, lock := range locks {
		if name == "try" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, _ := embedded.Open(nil)
				client := holdfast.New(store, &holdfast.Options{Owner: "a"})
				other := holdfast.New(store, &holdfast.Options{Owner: "b"})
				defer client.Close()
				defer other.Close()
				take := func(ctx context.Context) (*holdfast.Lease, error) { return other.Mutex("n").Lock(ctx) }
				holder := "b"
				switch name {
				case "Semaphore":
					take = func(ctx context.Context) (*holdfast.Lease, error) { return other.Semaphore("n", 3).Acquire(ctx, 3) }
				case "reader", "writer":
					take = other.RWMutex("n").Lock
				case "Election":
					holder = "w"
					take = func(ctx context.Context) (*holdfast.Lease, error) { return other.Election("n").Campaign(ctx, "w") }
				}
				lease, err := take(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, wait := range []time.Duration{50 * time.Millisecond, 2 * time.Second, 20 * time.Second} {
					busyEnds(t, wait, holder, func(ctx context.Context) error { return lock(ctx, client) })
				}
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// While this Client holds the name, its callers wait for that, whether the store answers or not. When it
// has released the name, they wait for the store.
func TestOutageBehindAHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		connection := store.Connect()
		client := holdfast.New(connection, &holdfast.Options{Owner: "a"})
		defer client.Close()
		lease, err := client.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		connection.Disconnect()
		lock := func(ctx context.Context) error { return second(client.Mutex("n").Lock(ctx)) }
		busyEnds(t, 2*time.Second, "a", lock)
		busyEnds(t, 6*time.Second, "a", lock)
		go func() {
			time.Sleep(100 * time.Millisecond)
			_ = lease.Release()
		}()
		time.Sleep(200 * time.Millisecond)
		outageEnds(t, 500*time.Millisecond, lock)
		connection.Reconnect()
	})
}

// outageEnds wants that a wait ends with its deadline and says that the store is unreachable.
func outageEnds(t *testing.T, wait time.Duration, lock func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	err := lock(ctx)
	ended, ok := errors.AsType[*holdfast.WaitError](err)
	if !errors.Is(err, holdfast.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) || !ok || ended.Waited != wait {
		t.Errorf("after %v: got %v, want ErrUnreachable", wait, err)
	}
}

// busyEnds wants that a wait ends with its deadline and names the holder.
func busyEnds(t *testing.T, wait time.Duration, owner string, lock func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	err := lock(ctx)
	ended, ok := errors.AsType[*holdfast.WaitError](err)
	if errors.Is(err, holdfast.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) || !ok || ended.Owner != owner || ended.Name != "n" {
		t.Errorf("after %v: got %v, want a wait for %s", wait, err, owner)
	}
}

// counted counts the scripts that it runs.
type counted struct {
	driver.Store
	mu      sync.Mutex
	scripts []string
}

func (s *counted) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.mu.Lock()
	s.scripts = append(s.scripts, call.Script.Name)
	s.mu.Unlock()
	return s.Store.Eval(ctx, call)
}

// A wait that ends says who holds the name, and why it ended. For that it asks nobody.
func TestWaitThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := embedded.Open(nil)
		join := func(store driver.Store, owner string) *holdfast.Client {
			client := holdfast.New(store, &holdfast.Options{Owner: owner})
			t.Cleanup(func() { _ = client.Close() })
			return client
		}
		counts := &counted{Store: store}
		holder, first, client := join(store, "worker-3"), join(store, "worker-4"), join(counts, "worker-5")
		lease, err := holder.Mutex("invoice:42").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting, stop := context.WithCancel(t.Context())
		go func() { _, _ = first.Mutex("invoice:42").Lock(waiting) }()
		time.Sleep(time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = client.Mutex("invoice:42").Lock(ctx)
		const want = "holdfast: invoice:42: context deadline exceeded after 2s: held by worker-3, 2nd in the queue"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if got, want := strings.Join(counts.scripts, " "), "lock lock cancel"; got != want {
			t.Errorf("it ran %s, want %s", got, want)
		}
		ended, ok := errors.AsType[*holdfast.WaitError](err)
		if !ok || ended.Position != 2 || ended.Waiters != 2 || ended.Owner != "worker-3" || ended.Unreachable != nil {
			t.Errorf("got %+v", ended)
		}

		because := errors.New("the request was dropped")
		for name, begun := range map[string]bool{"before": false, "meanwhile": true} {
			ctx, drop := context.WithCancelCause(t.Context())
			if begun {
				time.AfterFunc(time.Second, func() { drop(because) })
			} else {
				drop(because)
			}
			for _, lock := range []func() error{
				func() error { return second(client.Mutex("invoice:42").Lock(ctx)) },
				func() error { return second(client.Multi("a", "invoice:42").Lock(ctx)) },
			} {
				err := lock()
				if !errors.Is(err, context.Canceled) || !errors.Is(err, because) || errors.Is(err, holdfast.ErrUnreachable) {
					t.Errorf("%s: got %v, want the error and the cause of the context", name, err)
				}
			}
		}

		outer, err := client.Mutex("outer").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { _, _ = store.Do("DEL", "holdfast:outer") })
		if _, err := client.Multi("a", "invoice:42").Lock(outer.Context(t.Context())); !errors.Is(err, context.Canceled) || !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("under a lease that is lost: got %v, want its loss", err)
		}
		stop()
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}
