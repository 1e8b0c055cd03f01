package drivers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A subscription whose connection breaks ends, and does not mend itself.
func TestDriverKilledConnection(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		for protocol, w := range clienttest.Protocols {
			t.Run(protocol, func(t *testing.T) {
				var dials atomic.Int32
				w.Dials = func() { dials.Add(1) }
				store := d.Open(t, server.URL(), w)
				var slowest time.Duration
				for range 20 {
					sub := clienttest.Subscribe(t, store, "c", func(string) {})
					before := dials.Load()
					server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub")
					began := time.Now()
					clienttest.Ended(t, sub)
					slowest = max(slowest, time.Since(began))
					if sub.Ping(t.Context()) == nil {
						t.Error("a dead subscription answered a ping")
					}
					if got := dials.Load(); got != before {
						t.Errorf("%d new connections after it broke, want none", got-before)
					}
				}
				t.Logf("ended at the latest %v after its connection", slowest)
				if slowest > 2*time.Second {
					t.Errorf("it took %v to notice a broken connection, want next to nothing", slowest)
				}
			})
		}
	})
}

// A dialer that hangs must not hang the caller.
func TestDriverSubscribeObeysContext(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		var dials atomic.Int32
		store := d.Open(t, server.URL(), clienttest.Way{Dials: func() {
			if dials.Add(1) > 1 {
				<-t.Context().Done() // it does not look at its own
			}
		}})
		if _, err := store.Subscribe(briefly(t), "c", func(string) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

// What a frozen server does not answer ends with its context, however that ends
// and however long the client itself would wait.
func TestDriverFrozenServer(t *testing.T) {
	t.Parallel()
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		for protocol, w := range clienttest.Protocols {
			t.Run(protocol, func(t *testing.T) { frozen(t, server, d, w) })
		}
	})
}

func frozen(t *testing.T, server *redistest.Server, d clienttest.Library, w clienttest.Way) {
	w.Patient = true
	store := d.Open(t, server.URL(), w)
	sub := clienttest.Subscribe(t, store, "c", func(string) {})
	call := driver.Call{Script: clienttest.Lua("return 1")}
	calls := []struct {
		name string
		call func(context.Context) error
	}{
		{"ping", sub.Ping}, // first: rueidis may end it later
		{"subscribe", func(ctx context.Context) error {
			_, err := store.Subscribe(ctx, "d", func(string) {})
			return err
		}},
		{"eval", func(ctx context.Context) error {
			_, err := store.Eval(ctx, call)
			return err
		}},
		{"eval all", func(ctx context.Context) error {
			return store.EvalAll(ctx, []driver.Call{call, call})[1].Err
		}},
		{"scan", func(ctx context.Context) error {
			for _, err := range store.Scan(ctx, "*") {
				return err
			}
			return nil
		}},
	}
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		began := time.Now()
		if err := c.call(briefly(t)); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got %v, want the context's error", c.name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if err := c.call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the context's error", c.name, err)
		}
		if got := time.Since(began); got > clienttest.Patience/2 {
			t.Errorf("%s: two calls took %v, want the ends of their contexts", c.name, got)
		}
	}
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
	clienttest.Eventually(t, "the store works again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := store.Eval(ctx, call)
		return err == nil
	})
	clienttest.Eventually(t, "the subscriptions that came too late are gone", func() bool {
		return server.MustDo(t, "PUBLISH", "d", "x") == "0"
	})
}

// A subscription that was given up leaves nothing waiting for a frozen server.
// (It counts goroutines, so it runs alone.)
func TestDriverGivesUpASubscription(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		store := d.Open(t, server.URL(), clienttest.Way{Patient: true})
		sub := clienttest.Subscribe(t, store, "c", func(string) {})
		sub.Close()
		if err := server.Freeze(); err != nil {
			t.Fatal(err)
		}
		before := runtime.NumGoroutine()
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			if _, err := store.Subscribe(ctx, "c", func(string) {}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the context's error", err)
			}
		}
		clienttest.Eventually(t, "all that waited is gone", func() bool { return runtime.NumGoroutine() <= before })
		if err := server.Thaw(); err != nil {
			t.Fatal(err)
		}
	})
}

// A driver that sends pings by itself notices a frozen server without being
// asked; the others leave that to the core's Ping.
func TestDriverNoticesAFreeze(t *testing.T) {
	t.Parallel()
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		sub := clienttest.Subscribe(t, d.Open(t, server.URL(), clienttest.Way{}), "c", func(string) {})
		if err := server.Freeze(); err != nil {
			t.Fatal(err)
		}
		if d.Pings {
			clienttest.Ended(t, sub)
		} else if err := sub.Ping(briefly(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ping: got %v, want the context's error", err)
		}
		if err := server.Thaw(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDriverKilledServer(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		store := d.Open(t, server.URL(), clienttest.Way{})
		sub := clienttest.Subscribe(t, store, "c", func(string) {})
		server.Kill()
		clienttest.Ended(t, sub)
		_, err := store.Eval(t.Context(), driver.Call{Script: clienttest.Lua("return 1")})
		if _, refused := errors.AsType[driver.ServerError](err); err == nil || refused {
			t.Errorf("got %v, want an error that is not the server's", err)
		}
		if err := server.Restart(true); err != nil {
			t.Fatal(err)
		}
		clienttest.Eventually(t, "the store works again", func() bool {
			_, err := store.Eval(t.Context(), driver.Call{Script: clienttest.Lua("return 1")})
			return err == nil
		})
		clienttest.Subscribe(t, store, "c", func(string) {})
	})
}

func TestDriverLeaksNothing(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		before := runtime.NumGoroutine()
		for range 3 {
			store, err := d.Try(server.URL(), clienttest.Way{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				sub, err := store.Subscribe(t.Context(), fmt.Sprint("c", i), func(string) {})
				if err != nil {
					t.Fatal(err)
				}
				if i%2 == 0 {
					sub.Close()
				}
				_, _ = store.Eval(t.Context(), driver.Call{Script: clienttest.Lua("return 1")})
			}
			server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub")
			for i := range 5 { // left open: Close of the store ends them
				if _, err := store.Subscribe(t.Context(), fmt.Sprint("d", i), func(string) {}); err != nil {
					t.Fatal(err)
				}
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}
		clienttest.Eventually(t, "all goroutines and connections are gone", func() bool {
			return runtime.NumGoroutine() <= before && strings.Count(server.MustDo(t, "CLIENT", "LIST"), "name=holdfast") == 0
		})
	})
}

// briefly is a context that is over before anything else is.
func briefly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
