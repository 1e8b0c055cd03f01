package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/auth"
)

// events is a stream and what comes by it.
type events struct {
	t     *testing.T
	close context.CancelFunc
	in    chan event // closed with the stream
}

type event struct {
	kind string
	data map[string]any
}

func (w *web) stream(wish m) *events {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	r, err := w.send(ctx, "POST", "/v1/leases/stream", wish)
	if err != nil {
		w.t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("stream: %d %v", r.StatusCode, r.Header)
	}
	e := &events{w.t, cancel, make(chan event, 1000)}
	go func() {
		defer close(e.in)
		defer r.Body.Close()
		var v event
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "event: "):
				v.kind = line[len("event: "):]
			case strings.HasPrefix(line, "data: "):
				_ = json.Unmarshal([]byte(line[len("data: "):]), &v.data)
			case line == "" && v.kind != "":
				e.in <- v
				v = event{}
			}
		}
	}()
	return e
}

// next wants that event to come, after any renewals.
func (e *events) next(kind string) event {
	e.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case v, ok := <-e.in:
			if !ok {
				e.t.Fatalf("the stream has ended; want %s", kind)
			}
			if v.kind == kind {
				return v
			}
			if v.kind != "renewed" {
				e.t.Fatalf("got %+v; want %s", v, kind)
			}
		case <-timeout:
			e.t.Fatalf("not within %v: %s", patience, kind)
		}
	}
}

// ends wants the stream to end.
func (e *events) ends() {
	e.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case _, ok := <-e.in:
			if !ok {
				return
			}
		case <-timeout:
			e.t.Fatalf("not within %v: the end of the stream", patience)
		}
	}
}

// A lease bound to a stream is renewed beyond its ttl, and released when the stream closes.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		s := w.stream(m{"name": "n", "ttl": "1s", "owner": "ann"})
		got := s.next("granted")
		if got.data["token"].(float64) <= 0 || got.data["owner"] != "ann" || got.data["remaining_ms"].(float64) >= 1000 {
			t.Errorf("granted: %v", got.data)
		}
		w.want("a second stream", w.ask("POST", "/v1/leases/stream", m{"name": "n"}), http.StatusConflict, "held")
		for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); {
			if renewed := s.next("renewed"); renewed.data["token"] != got.data["token"] {
				t.Errorf("renewed: %v", renewed.data)
			}
		}
		if w.free("n") {
			t.Fatal("it was not renewed")
		}
		waiter := w.stream(m{"name": "n", "ttl": "1m", "wait": "1m"})
		waiter.next("waiting")
		soon(t, "it waits", func() bool { return w.ask("GET", "/v1/locks/n", nil).num("waiting") == 1 })
		s.close()
		next := waiter.next("granted")
		if next.data["token"].(float64) <= got.data["token"].(float64) {
			t.Errorf("token %v after %v", next.data["token"], got.data["token"])
		}
		waiter.close()
		soon(t, "it is free", func() bool { return w.free("n") })
	})
}

// One that waits is told when it waited for too long, and one that goes away leaves no place in line.
func TestStreamWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		w.acquire(m{"name": "n", "ttl": "1m", "owner": "bob"})
		s := w.stream(m{"name": "n", "wait": "200ms"})
		s.next("waiting")
		failed := s.next("failed")
		holder, _ := failed.data["holder"].(map[string]any)
		if failed.data["code"] != "held" || holder["owner"] != "bob" {
			t.Errorf("failed: %v", failed.data)
		}
		s.ends()
		s = w.stream(m{"name": "n", "wait": "1m"})
		waiting := func() int64 { return w.ask("GET", "/v1/locks/n", nil).num("waiting") }
		soon(t, "it waits", func() bool { return waiting() == 1 })
		s.close()
		soon(t, "it has gone", func() bool { return waiting() == 0 })
	})
}

// A holder that is revoked is told so, and nobody else has the name before its
// stream is closed.
func TestStreamIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		s := w.stream(m{"name": "n", "ttl": "40s"})
		s.next("granted")
		waiter := w.stream(m{"name": "n", "wait": "1m"})
		waiter.next("waiting")
		holder, _ := w.ask("GET", "/v1/locks/n", nil).body["holder"].(map[string]any)
		w.want("revoke", w.ask("POST", "/v1/revoke", m{"name": "n", "hash": holder["hash"], "reason": "drained"}), http.StatusAccepted, "")
		asked := s.next("revoke-requested")
		if asked.data["cause"] != "revoked" || asked.data["reason"] != "drained" || asked.data["grace_ms"].(float64) != 20_000 {
			t.Errorf("revoke-requested: %v", asked.data)
		}
		select {
		case v := <-s.in:
			t.Errorf("%+v before its holder has stopped", v)
		case v := <-waiter.in:
			t.Errorf("the next has %+v before the holder has stopped", v)
		case <-time.After(time.Second): // that nothing comes can't be polled for
		}
		s.close()
		waiter.next("granted")

		w.want("steal", w.ask("POST", "/v1/steal", m{"name": "n", "hash": hashOf(w, "n"), "reason": "stuck"}), http.StatusOK, "")
		if lost := waiter.next("lost"); lost.data["cause"] != "stolen" || lost.data["reason"] != "stuck" {
			t.Errorf("lost: %v", lost.data)
		}
		waiter.ends()
	})
}

// The time that it was promised is its client's, also when the server shuts down meanwhile.
func TestRevokedStreamKeepsItsTimeInShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &server.Options{Grace: 10 * time.Millisecond})
		s := w.stream(m{"name": "n", "ttl": "40s"})
		s.next("granted")
		w.want("revoke", w.ask("POST", "/v1/revoke", m{"name": "n", "hash": hashOf(w, "n"), "reason": "drained"}), http.StatusAccepted, "")
		s.next("revoke-requested")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		closed := make(chan error, 1)
		go func() { closed <- w.api.Close(ctx) }()
		select {
		case v := <-s.in:
			t.Errorf("%+v before its holder has stopped", v)
		case err := <-closed:
			t.Errorf("Close returns %v before the holder has stopped", err)
		case <-time.After(time.Second): // that nothing comes can't be polled for
		}
		s.close()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func hashOf(w *web, name string) string {
	holder, _ := w.ask("GET", "/v1/locks/"+name, nil).body["holder"].(map[string]any)
	hash, _ := holder["hash"].(string)
	return hash
}

// One that is revoked and does not stop loses the name when the time is over that it was told last.
func TestStreamDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		s := w.stream(m{"name": "n", "ttl": "2s"})
		s.next("granted")
		w.want("revoke", w.ask("POST", "/v1/revoke", m{"name": "n", "hash": hashOf(w, "n"), "reason": "drained"}), http.StatusAccepted, "")
		s.next("revoke-requested")
		s.next("lost")
		s.ends()
		soon(t, "it is free", func() bool { return w.free("n") })
	})
}

// A server that shuts down tells holders and waiters, and releases what was held.
func TestCloseEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &server.Options{Grace: 300 * time.Millisecond})
		s := w.stream(m{"name": "n", "ttl": "1m"})
		s.next("granted")
		waiter := w.stream(m{"name": "n", "wait": "1m"})
		waiter.next("waiting")
		heeds := w.stream(m{"name": "m", "ttl": "1m"})
		heeds.next("granted")
		go func() {
			heeds.next("revoke-requested")
			heeds.close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := w.api.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if asked := s.next("revoke-requested"); asked.data["cause"] != "closed" || asked.data["grace_ms"].(float64) != 300 {
			t.Errorf("revoke-requested: %v", asked.data)
		}
		s.next("lost")
		s.ends()
		if failed := waiter.next("failed"); failed.data["code"] != "closing" {
			t.Errorf("failed: %v", failed.data)
		}
		for _, name := range []string{"n", "m"} {
			soon(t, name+" is free", func() bool { return w.free(name) })
		}
		w.want("a stream after Close", w.ask("POST", "/v1/leases/stream", m{"name": "n"}), http.StatusServiceUnavailable, "closing")
		w.want("readyz", w.ask("GET", "/readyz?verbose", nil), http.StatusServiceUnavailable, "")
	})
}

// A token that is removed, or that gets a lower role, loses what its streams hold. Their clients are
// told to stop. While the file is wrong for a moment, streams go on.
func TestStreamOfARemovedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, of := tokens(t)
		list, err := auth.OpenTokens(file, quietLog())
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, &server.Options{Tokens: list})
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w.token = of[auth.Admin]
		stays := w.stream(m{"name": "stays"})
		stays.next("granted")
		for what, removed := range map[string]string{
			"removed": strings.ReplaceAll(string(text), "user ", "# "),
			"lower":   strings.ReplaceAll(string(text), "user ", "viewer "),
		} {
			w.token = of[auth.User]
			s := w.stream(m{"name": "n"})
			s.next("granted")
			write(removed)
			time.Sleep(8 * time.Second)
			write(string(text))
			for range 5 { // half a minute
				s.next("renewed")
			}
			write(removed)
			began := time.Now()
			asked := s.next("revoke-requested")
			if took := time.Since(began); took > 30*time.Second || asked.data["cause"] != "closed" || asked.data["reason"] != "the token was removed" {
				t.Errorf("%s: after %v: %v", what, took, asked.data)
			}
			s.next("lost")
			s.ends()
			w.token = of[auth.Admin]
			soon(t, "the name is free", func() bool { return w.free("n") })
			write(string(text))
			time.Sleep(2 * time.Second) // it is read
		}
		stays.next("renewed")
		stays.close()
	})
}

// There are as many streams as there may be.
func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &server.Options{MaxStreams: 2})
		one, two := w.stream(m{"name": "1"}), w.stream(m{"name": "2"})
		one.next("granted")
		two.next("granted")
		third := func() bool {
			r, err := w.send(t.Context(), "POST", "/v1/leases/stream", m{"name": "3"})
			if err != nil {
				return false
			}
			_ = r.Body.Close()
			return r.StatusCode == http.StatusOK
		}
		if third() {
			t.Fatal("there are three streams")
		}
		busy := w.want("a third", w.ask("POST", "/v1/leases/stream", m{"name": "3"}), http.StatusServiceUnavailable, "busy")
		if busy.header.Get("Retry-After") == "" {
			t.Errorf("503: %v", busy.header)
		}
		one.close()
		soon(t, "there is room", third)
	})
}
