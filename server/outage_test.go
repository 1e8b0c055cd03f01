package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// stopped is a store that does not answer while it is told to.
type stopped struct {
	driver.Store
	silent atomic.Bool
	failed atomic.Bool
	asked  atomic.Int64 // scripts
}

func (s *stopped) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.asked.Add(1)
	switch {
	case s.silent.Load():
		<-ctx.Done()
		return nil, ctx.Err()
	case s.failed.Load():
		return nil, errors.New("dial tcp 127.0.0.1:6379: connection refused")
	}
	return s.Store.Eval(ctx, call)
}

// While the store does not answer requests are answered 503 with the reason, at once as
// soon as that is known, and do not pile up; when it answers again all is well.
func TestOutage(t *testing.T) {
	for what, stop := range map[string]func(*stopped, bool){
		"silent": func(s *stopped, on bool) { s.silent.Store(on) },
		"gone":   func(s *stopped, on bool) { s.failed.Store(on) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &stopped{Store: openStore(t)}
				w := serveOn(t, newClient(t, store), nil)
				first := w.acquire(m{"name": "n", "ttl": "5m"})

				stop(store, true)
				stopped := time.Now()
				down := w.want("the first that comes", w.ask("POST", "/v1/leases", m{"name": "m", "wait": "30s"}), http.StatusServiceUnavailable, "unavailable")
				if down.header.Get("Retry-After") == "" || down.str("detail") == "" {
					t.Errorf("503: %v %s", down.header, down.text)
				}
				if took := time.Since(stopped); took > 12*time.Second {
					t.Errorf("it was told after %v, when the Client gives up", took)
				}
				goroutines := runtime.NumGoroutine()
				var all sync.WaitGroup
				began := time.Now()
				for range 200 {
					all.Go(func() {
						for _, ask := range []func() (*http.Response, error){
							func() (*http.Response, error) {
								return w.send(t.Context(), "POST", "/v1/leases", m{"name": "x", "wait": "30s"})
							},
							func() (*http.Response, error) {
								return w.send(t.Context(), "PUT", "/v1/lease", nil, "Holdfast-Lease", first.str("lease"))
							},
							func() (*http.Response, error) { return w.send(t.Context(), "GET", "/v1/locks", nil) },
						} {
							r, err := ask()
							if err != nil {
								t.Error(err)
								return
							}
							_, _ = io.Copy(io.Discard, r.Body)
							if _ = r.Body.Close(); r.StatusCode != http.StatusServiceUnavailable {
								t.Errorf("got %d; want 503", r.StatusCode)
							}
						}
					})
				}
				all.Wait()
				t.Logf("600 requests took %v", time.Since(began))
				w.http.CloseIdleConnections()
				soon(t, "nothing is piled up", func() bool { return runtime.NumGoroutine() < goroutines+50 })
				w.want("readyz", w.ask("GET", "/readyz?verbose", nil), http.StatusServiceUnavailable, "")
				w.want("healthz", w.ask("GET", "/healthz", nil), http.StatusOK, "")

				stop(store, false)
				soon(t, "it answers again", func() bool { return w.ask("GET", "/readyz", nil).status == http.StatusOK })
				w.want("the lease is kept", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", first.str("lease")), http.StatusOK, "")
				w.acquire(m{"name": "m"})
			})
		})
	}
}

// A wait that ends before the Client gives up does not say that the name is held.
func TestShortWaitInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stopped{Store: openStore(t)}
		w := serveOn(t, newClient(t, store), nil)
		w.acquire(m{"name": "n", "ttl": "5m"})
		w.want("a held name", w.ask("POST", "/v1/leases", m{"name": "n", "wait": "1s"}), http.StatusConflict, "held")
		store.silent.Store(true)
		w.want("an outage", w.ask("POST", "/v1/leases", m{"name": "m", "wait": "1s"}), http.StatusServiceUnavailable, "unavailable")
		store.silent.Store(false)
	})
}

// All that ask within a second whether it is ready share a probe, and do not wait for one that
// hangs when there was an answer a moment ago.
func TestReadyIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stopped{Store: openStore(t)}
		w := serveOn(t, newClient(t, store), nil)
		ready := func(want int) {
			t.Helper()
			for i := range 20 {
				w.want("readyz", w.ask("GET", []string{"/readyz", "/readyz?verbose"}[i%2], nil), want, "")
			}
		}
		ready(http.StatusOK)
		one := store.asked.Load()
		time.Sleep(999 * time.Millisecond)
		ready(http.StatusOK)
		if got := store.asked.Load(); got != one {
			t.Errorf("%d scripts within a second, and %d of one probe", got, one)
		}
		time.Sleep(time.Millisecond)
		store.silent.Store(true)
		began := time.Now()
		ready(http.StatusOK) // as it was a second ago
		if took := time.Since(began); took != 0 {
			t.Errorf("with an answer a second ago they waited for %v", took)
		}
		time.Sleep(2 * time.Second)
		ready(http.StatusServiceUnavailable)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("that it hangs was known after %v, want 2s", took)
		}
		if got := store.asked.Load(); got > 2*one {
			t.Errorf("%d scripts by two probes, and %d of one", got, one)
		}
	})
}
