package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/auth"
)

// withTokens is an API with two tokens of users that have one label.
func withTokens(t *testing.T, options *server.Options) (w *web, of [2]string) {
	t.Helper()
	text := ""
	for i := range of {
		secret, line, err := auth.NewToken(auth.User, "ci")
		if err != nil {
			t.Fatal(err)
		}
		of[i], text = secret, text+line+"\n"
	}
	file := t.TempDir() + "/tokens"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := auth.OpenTokens(file, quietLog())
	if err != nil {
		t.Fatal(err)
	}
	options.Tokens = list
	w = start(t, options)
	w.token = of[0]
	return w, of
}

// A request that waits gets no lease if its token was removed meanwhile.
func TestWaitOfARemovedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, of := tokens(t)
		list, err := auth.OpenTokens(file, quietLog())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, &server.Options{Tokens: list})
		w.token = of[auth.Admin]
		holder := w.stream(m{"name": "n"})
		holder.next("granted")
		w.token = of[auth.User]
		answers := make(chan int, 2)
		for _, key := range []string{"", "k"} {
			go func() {
				answers <- w.ask("POST", "/v1/leases", m{"name": "n", "wait": "1m"}, "Idempotency-Key", key).status
			}()
		}
		stream := w.stream(m{"name": "n", "wait": "1m"})
		stream.next("waiting")
		synctest.Wait()
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "user ", "# ")), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		holder.close()
		if failed := stream.next("failed"); failed.data["status"] != float64(http.StatusUnauthorized) {
			t.Errorf("the stream: %v", failed.data)
		}
		for range 2 {
			if got := <-answers; got != http.StatusUnauthorized {
				t.Errorf("a request got %d, want 401", got)
			}
		}
		w.token = of[auth.Admin]
		soon(t, "the name is free", func() bool { return w.free("n") })
	})
}

// A key is of the token that sent it, not of all with its label: another gets no lease by it.
func TestKeyIsOfAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := withTokens(t, &server.Options{})
		w.want("the first", w.ask("POST", "/v1/leases", m{"name": "n"}, "Idempotency-Key", "k"), http.StatusCreated, "")
		w.token = of[1]
		w.want("another token", w.ask("POST", "/v1/leases", m{"name": "n"}, "Idempotency-Key", "k"), http.StatusConflict, "held")
	})
}

// A token that has as many keys as it may keeps no other's out. A lease that has ended makes room,
// also if another program has released it.
func TestKeysOfOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := withTokens(t, &server.Options{})
		n, last := 0, ""
		another := func() reply {
			n++
			return w.ask("POST", "/v1/leases", m{"name": fmt.Sprint(n), "ttl": "24h"}, "Idempotency-Key", fmt.Sprint(n))
		}
		full := func() {
			t.Helper()
			for {
				got := another()
				if got.status != http.StatusCreated {
					w.want("the last one", got, http.StatusServiceUnavailable, "busy")
					return
				}
				if last = got.str("lease"); n > 3000 {
					t.Fatalf("one token got %d keys", n)
				}
			}
		}
		full()
		w.token = of[1]
		w.want("another token", another(), http.StatusCreated, "")
		w.token = of[0]
		w.want("release", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", last), http.StatusNoContent, "")
		w.want("after a release", another(), http.StatusCreated, "")
		full()
		for i := range n {
			if _, err := w.store.Do("DEL", fmt.Sprintf("holdfast:%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		w.want("after all have ended", another(), http.StatusCreated, "")
	})
}

// Requests that wait keep no renewal out, and those of one token no other's.
func TestWaitersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := withTokens(t, &server.Options{MaxRequests: 2})
		got := w.acquire(m{"name": "n", "ttl": "1m"})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wait := func() {
			r, err := w.send(ctx, "POST", "/v1/leases", m{"name": "n", "wait": "1m", "owner": "waiter"})
			if err == nil {
				_ = r.Body.Close()
			}
		}
		go wait()
		soon(t, "it waits", func() bool { return w.ask("GET", "/v1/locks/n", nil).num("waiting") == 1 })
		busy := w.want("a second of the token", w.ask("POST", "/v1/leases", m{"name": "m"}), http.StatusServiceUnavailable, "busy")
		if busy.header.Get("Retry-After") == "" {
			t.Errorf("503: %v", busy.header)
		}
		w.want("renew", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")), http.StatusOK, "")
		w.token = of[1]
		w.acquire(m{"name": "m"})
	})
}

// Pages that are open keep no renewal out, and those of one token no other's.
func TestPagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stream" {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
		})
		w, of := withTokens(t, &server.Options{MaxStreams: 2, Pages: pages})
		got := w.acquire(m{"name": "n", "ttl": "1m"})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		open := func() {
			r, err := w.send(ctx, "GET", "/stream", nil)
			if err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("a page: %+v, %v", r, err)
			}
		}
		open()
		w.want("a second of the token", w.ask("GET", "/", nil), http.StatusServiceUnavailable, "busy")
		w.token = of[1]
		open()
		w.want("renew", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")), http.StatusOK, "")
		cancel()
		soon(t, "a page is served", func() bool { return w.ask("GET", "/", nil).status == http.StatusOK })
	})
}

// A request that waits when the server shuts down is told so, and leaves nobody in line.
func TestCloseEndsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		w.acquire(m{"name": "n", "ttl": "1m"})
		got := make(chan reply, 1)
		go func() { got <- w.ask("POST", "/v1/leases", m{"name": "n", "wait": "50s"}) }()
		waiting := func() int64 { return w.ask("GET", "/v1/locks/n", nil).num("waiting") }
		soon(t, "it waits", func() bool { return waiting() == 1 })
		if err := w.api.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case r := <-got:
			w.want("the one that waited", r, http.StatusServiceUnavailable, "closing")
		case <-time.After(patience):
			t.Fatal("it waits on")
		}
		soon(t, "nobody waits", func() bool { return waiting() == 0 })
	})
}

// A lease of another prefix is a mistake of the client, and not of this server.
func TestLeaseOfAnotherPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		other := holdfast.New(w.store, &holdfast.Options{Prefix: "other:", Logger: quietLog()})
		defer other.Close()
		lease, err := other.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text, err := lease.Export()
		if err != nil {
			t.Fatal(err)
		}
		w.want("renew", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", text), http.StatusBadRequest, "bad-lease")
	})
}

// deaf is a store that loses the answers of lock, after it has run, while it is told to.
type deaf struct {
	driver.Store
	on atomic.Bool
}

func (d *deaf) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	reply, err := d.Store.Eval(ctx, call)
	if d.on.Load() && call.Script.Name == "lock" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return reply, err
}

// A LOCK whose answer the server has not got is being given back: what comes again with that ID is
// not told that it has the lock, which would be free the next moment.
func TestTerraformDoesNotLearnOfWhatIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := openStore(t)
		store := &deaf{Store: inner}
		client, other := newClient(t, store), newClient(t, inner)
		w := serveOn(t, client, nil)
		// By the owner it is this ID's; that another Client keeps it up stands for the attempt that failed.
		failed := other.Mutex("n")
		failed.Owner = "terraform/id-1 ann"
		lease, err := failed.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held := w.want("LOCK", w.tf("LOCK", "/v1/terraform/n", lockInfo("id-1", "ann")), http.StatusLocked, "")
		if held.str("ID") != "id-1" {
			t.Errorf("423: %s", held.text)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		store.on.Store(true)
		if r, err := w.send(ctx, "LOCK", "/v1/terraform/n", lockInfo("id-2", "ann")); err == nil {
			_ = r.Body.Close()
			t.Errorf("LOCK without an answer of the store: %d", r.StatusCode)
		}
		store.on.Store(false)
		soon(t, "what nobody got is given back, and can be locked", func() bool {
			return w.tf("LOCK", "/v1/terraform/n", lockInfo("id-2", "ann")).status == http.StatusOK
		})
		if hold, err := admin.Of(client).Inspect(t.Context(), "n"); err != nil || hold.Holder == nil {
			t.Errorf("after 200: %+v, %v", hold, err)
		}
		w.want("LOCK again", w.tf("LOCK", "/v1/terraform/n", lockInfo("id-2", "ann")), http.StatusOK, "")
		w.want("UNLOCK", w.tf("UNLOCK", "/v1/terraform/n", lockInfo("id-2", "ann")), http.StatusOK, "")
	})
}

// stuck is a connection that takes one event and then nothing; as net/http does, it ends the
// request when a write has failed.
type stuck struct {
	http.ResponseWriter
	cancel  context.CancelFunc
	granted chan string // the first event
	taken   bool
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.taken {
		s.cancel()
		return 0, os.ErrDeadlineExceeded
	}
	s.taken = true
	s.granted <- string(p)
	return len(p), nil
}

func (s *stuck) FlushError() error { return nil }

func (s *stuck) SetWriteDeadline(time.Time) error { return nil }

// The lease of a stream whose client takes nothing lasts for as long as the client was told: it has
// not closed, and may be at work.
func TestStreamIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		q := httptest.NewRequestWithContext(ctx, "POST", "http://localhost/v1/leases/stream", strings.NewReader(`{"name": "n", "ttl": "2s"}`))
		q.Header.Set("Content-Type", "application/json")
		conn := &stuck{ResponseWriter: httptest.NewRecorder(), cancel: cancel, granted: make(chan string, 1)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.api.ServeHTTP(conn, q)
		}()
		said := <-conn.granted
		at := time.Now()
		_, data, _ := strings.Cut(said, "data: ")
		var told struct {
			Remaining int64 `json:"remaining_ms"`
		}
		if err := json.Unmarshal([]byte(data), &told); err != nil || told.Remaining < 1000 {
			t.Fatalf("granted: %q, %v", said, err)
		}
		<-ctx.Done() // it was told that it takes nothing
		soon(t, "the name is free", func() bool { return w.free("n") })
		if lasted, least := time.Since(at), time.Duration(told.Remaining)*time.Millisecond; lasted < least-10*time.Millisecond {
			t.Errorf("free after %v, and its client was told %v", lasted, least)
		}
		<-ended
	})
}
