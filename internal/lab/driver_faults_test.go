package lab_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
)

func TestDriverKilledConnection(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	store := openStore(t, server.URL(), nil)
	sub := subscribe(t, store, "c", func(string) {})
	server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub")
	ended(t, sub)
	if sub.Ping(t.Context()) == nil {
		t.Error("a dead subscription answered a ping")
	}
	subscribe(t, store, "c", func(string) {})
}

// A dialer that hangs must not hang the caller.
func TestDriverSubscribeObeysContext(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	store := openStore(t, server.URL(), func(option *rueidis.ClientOption) {
		option.PipelineMultiplex = -1 // one connection, so that the next is the subscription's
		var dials atomic.Int32
		option.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
			if dials.Add(1) > 1 {
				<-t.Context().Done() // it does not look at its own
			}
			return dialer.DialContext(ctx, "tcp", addr)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := store.Subscribe(ctx, "c", func(string) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestDriverFrozenServer(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for name, resp2 := range map[string]bool{"RESP3": false, "RESP2": true} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, server.URL(), func(o *rueidis.ClientOption) { o.AlwaysRESP2 = resp2 })
			sub := subscribe(t, store, "c", func(string) {})
			if err := server.Freeze(); err != nil {
				t.Fatal(err)
			}
			short := func() context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				t.Cleanup(cancel)
				return ctx
			}
			if err := sub.Ping(short()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ping: got %v, want the context's error", err)
			}
			if _, err := store.Subscribe(short(), "d", func(string) {}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("subscribe: got %v, want the context's error", err)
			}
			if _, err := store.Eval(short(), holdfast.Call{Script: lua("return 1")}); err == nil {
				t.Error("a frozen server answered")
			}
			ended(t, sub) // noticed by the client's own pings
			if err := server.Thaw(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the store works again", func() bool {
				_, err := store.Eval(t.Context(), holdfast.Call{Script: lua("return 1")})
				return err == nil
			})
			eventually(t, "the subscription that came too late is gone", func() bool {
				return server.MustDo(t, "PUBLISH", "d", "x") == "0"
			})
		})
	}
}

func TestDriverKilledServer(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	store := openStore(t, server.URL(), nil)
	sub := subscribe(t, store, "c", func(string) {})
	server.Kill()
	ended(t, sub)
	_, err := store.Eval(t.Context(), holdfast.Call{Script: lua("return 1")})
	if _, refused := errors.AsType[holdfast.ServerError](err); err == nil || refused {
		t.Errorf("got %v, want an error that is not the server's", err)
	}
	if err := server.Restart(true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store works again", func() bool {
		_, err := store.Eval(t.Context(), holdfast.Call{Script: lua("return 1")})
		return err == nil
	})
	subscribe(t, store, "c", func(string) {})
}

func TestDriverLeaksNothing(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	before := runtime.NumGoroutine()
	for range 3 {
		store, err := rueidisstore.Open(server.URL(), nil)
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
			_, _ = store.Eval(t.Context(), holdfast.Call{Script: lua("return 1")})
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
	eventually(t, "all goroutines and connections are gone", func() bool {
		return runtime.NumGoroutine() <= before && strings.Count(server.MustDo(t, "CLIENT", "LIST"), "name=holdfast") == 0
	})
}
