package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/server"
)

// A lease by request: taken, shown, refused to others with who has it, renewed, released,
// over; tokens rise.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		got := w.acquire(m{"name": "invoice/42", "ttl": "20s", "owner": "curl of ann"})
		lease := got.str("lease")
		if got.num("remaining_ms") <= 0 || got.num("remaining_ms") >= 20_000 || got.num("ttl_ms") != 20_000 || got.num("token") <= 0 || got.str("owner") != "curl of ann" {
			t.Errorf("got %s", got.text)
		}
		if at := got.header.Get("Location"); at != "/v1/locks/invoice%2F42" {
			t.Errorf("Location: %s", at)
		}
		for _, path := range []string{"/v1/locks/invoice/42", "/v1/locks/invoice%2F42"} {
			shown := w.want("show", w.ask("GET", path, nil), http.StatusOK, "")
			holder, _ := shown.body["holder"].(map[string]any)
			if shown.str("name") != "invoice/42" || holder["owner"] != "curl of ann" || holder["hash"] != got.str("hash") || shown.body["held"] != true {
				t.Errorf("show: %s", shown.text)
			}
		}
		held := w.want("a second acquire", w.ask("POST", "/v1/leases", m{"name": "invoice/42"}), http.StatusConflict, "held")
		if holder, _ := held.body["holder"].(map[string]any); holder["owner"] != "curl of ann" || held.header.Get("Retry-After") == "" || !strings.Contains(held.str("detail"), "curl of ann") {
			t.Errorf("409: %v %s", held.header, held.text)
		}
		began := time.Now()
		w.want("one that waits", w.ask("POST", "/v1/leases", m{"name": "invoice/42", "wait": "300ms"}), http.StatusConflict, "held")
		if took := time.Since(began); took < 300*time.Millisecond {
			t.Errorf("it waited %v; want 300ms", took)
		}
		renewed := w.want("renew", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", lease), http.StatusOK, "")
		if renewed.num("token") != got.num("token") || renewed.body["lease"] != nil {
			t.Errorf("renew: %s", renewed.text)
		}
		w.want("check", w.ask("GET", "/v1/lease", nil, "Holdfast-Lease", lease), http.StatusOK, "")
		w.want("release", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", lease), http.StatusNoContent, "")
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			gone := w.want(method, w.ask(method, "/v1/lease", nil, "Holdfast-Lease", lease), http.StatusGone, "lost")
			if gone.str("cause") != "gone" {
				t.Errorf("%s: %s", method, gone.text)
			}
		}
		if next := w.acquire(m{"name": "invoice/42"}); next.num("token") <= got.num("token") {
			t.Errorf("token %d after %d", next.num("token"), got.num("token"))
		}
	})
}

// A waiting request gets the name when the holder releases it, before others that come later.
func TestLeaseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		first := w.acquire(m{"name": "n", "ttl": "1m"})
		tokens := map[string]chan int64{"a": make(chan int64, 1), "b": make(chan int64, 1)}
		for _, who := range []string{"a", "b"} {
			go func() {
				got := w.ask("POST", "/v1/leases", m{"name": "n", "wait": "30s", "owner": who})
				if released := w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")); released.status != http.StatusNoContent {
					t.Errorf("%s released: %s", who, released.text)
				}
				tokens[who] <- got.num("token")
			}()
			soon(t, who+" waits", func() bool {
				waiters, _ := w.ask("GET", "/v1/locks/n", nil).body["waiters"].([]any)
				for _, v := range waiters {
					if v.(map[string]any)["owner"] == who {
						return true
					}
				}
				return false
			})
		}
		w.want("release", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", first.str("lease")), http.StatusNoContent, "")
		if a, b := <-tokens["a"], <-tokens["b"]; a <= first.num("token") || b <= a {
			t.Errorf("tokens %d, then %d for a and %d for b; want them to rise", first.num("token"), a, b)
		}
	})
}

// A client that goes away while it waits leaves nobody in line.
func TestLeaseIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		w.acquire(m{"name": "n"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := w.send(ctx, "POST", "/v1/leases", m{"name": "n", "wait": "30s"})
			done <- err
		}()
		waiting := func() int64 { return w.ask("GET", "/v1/locks/n", nil).num("waiting") }
		soon(t, "it waits", func() bool { return waiting() == 1 })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		soon(t, "it has gone", func() bool { return waiting() == 0 })
	})
}

// The same key gets the same lease within its ttl, also at the same moment; another body is
// refused; who has gone away leaves nothing.
func TestIdempotencyKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		wish := m{"name": "n", "ttl": "5m"}
		got := make(chan reply, 4)
		for range 4 {
			go func() { got <- w.ask("POST", "/v1/leases", wish, "Idempotency-Key", "k1") }()
		}
		var first reply
		for range 4 {
			r := w.want("with a key", <-got, http.StatusCreated, "")
			if first.text == "" {
				first = r
			}
			if r.str("lease") != first.str("lease") || r.num("token") != first.num("token") {
				t.Errorf("two leases: %s and %s", first.text, r.text)
			}
		}
		if again := w.ask("POST", "/v1/leases", wish, "Idempotency-Key", "k1"); again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("again: %v", again.header)
		}
		w.want("another body", w.ask("POST", "/v1/leases", wish.with(m{"ttl": "6m"}), "Idempotency-Key", "k1"), http.StatusUnprocessableEntity, "key-reused")
		w.want("another key", w.ask("POST", "/v1/leases", wish, "Idempotency-Key", "k2"), http.StatusConflict, "held")
		w.want("release", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", first.str("lease")), http.StatusNoContent, "")
		w.want("the key of what is over", w.ask("POST", "/v1/leases", wish, "Idempotency-Key", "k1"), http.StatusGone, "lost")
		w.want("what was refused is asked anew", w.ask("POST", "/v1/leases", wish, "Idempotency-Key", "k2"), http.StatusCreated, "")

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			_, _ = w.send(ctx, "POST", "/v1/leases", m{"name": "n", "wait": "1m"}, "Idempotency-Key", "k3")
			close(done)
		}()
		waiting := func() int64 { return w.ask("GET", "/v1/locks/n", nil).num("waiting") }
		soon(t, "it waits", func() bool { return waiting() == 1 })
		cancel()
		<-done
		soon(t, "it has gone", func() bool { return waiting() == 0 })
	})
}

// A lease survives the server that gave it: another one of the same store serves it.
func TestLeaseOutlivesItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		got := w.acquire(m{"name": "n", "ttl": "1m"})
		client := holdfast.New(w.store, &holdfast.Options{Logger: quietLog()})
		defer client.Close()
		if err := w.client.Close(); err != nil {
			t.Fatal(err)
		}
		hold, err := client.RenewExported(t.Context(), got.str("lease"))
		if err != nil || hold.Token != got.num("token") {
			t.Fatalf("RenewExported: %+v, %v", hold, err)
		}
		if err := client.ReleaseExported(t.Context(), got.str("lease")); err != nil {
			t.Error(err)
		}
	})
}

// Whatever is wrong with a request is said before anything is done.
func TestBadRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &server.Options{MaxTTL: time.Hour, MaxWait: time.Minute})
		for _, test := range []struct {
			body any
			code string
		}{
			{m{}, "bad-name"}, {m{"name": ""}, "bad-name"}, {m{"name": strings.Repeat("n", 600)}, "bad-name"}, {m{"name": "a{b"}, "bad-name"},
			{m{"name": "n", "ttl": "2h"}, "bad-request"}, {m{"name": "n", "ttl": "1ms"}, "bad-request"}, {m{"name": "n", "ttl": "soon"}, "bad-request"},
			{m{"name": "n", "wait": "2h"}, "bad-request"}, {m{"name": "n", "wait": "-1s"}, "bad-request"}, {m{"name": "n", "tll": "1s"}, "bad-request"},
			{m{"name": "n", "owner": strings.Repeat("o", 300)}, "bad-request"}, {m{"name": 7}, "bad-request"},
			{`{"name": "n"} {}`, "bad-request"}, {`{`, "bad-request"}, {`[]`, "bad-request"}, {"", "bad-request"},
		} {
			for _, path := range []string{"/v1/leases", "/v1/leases/stream"} {
				w.want(path, w.ask("POST", path, test.body), http.StatusBadRequest, test.code)
			}
		}
		w.want("no JSON", w.ask("POST", "/v1/leases", m{"name": "n"}, "Content-Type", "text/plain"), http.StatusUnsupportedMediaType, "media-type")
		w.want("a form", w.ask("POST", "/v1/leases", m{"name": "n"}, "Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType, "media-type")
		w.want("too large", w.ask("POST", "/v1/leases", m{"name": strings.Repeat("n", 20_000)}), http.StatusRequestEntityTooLarge, "too-large")
		w.want("no lease", w.ask("PUT", "/v1/lease", nil), http.StatusBadRequest, "bad-lease")
		wrong := w.want("a wrong lease", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", "holdfast1-AAAA"), http.StatusBadRequest, "bad-lease")
		if detail := wrong.str("detail"); strings.Contains(strings.ToLower(detail), "export") {
			t.Errorf("a wrong lease: got %q, which speaks of the library", detail)
		}
		w.want("a long key", w.ask("POST", "/v1/leases", m{"name": "n"}, "Idempotency-Key", strings.Repeat("k", 300)), http.StatusBadRequest, "bad-request")
		w.want("limit", w.ask("GET", "/v1/locks?limit=0", nil), http.StatusBadRequest, "bad-request")
		w.want("a parameter", w.ask("GET", "/v1/locks?prefx=a", nil), http.StatusBadRequest, "bad-request")
		w.want("no path", w.ask("GET", "/v2/locks", nil), http.StatusNotFound, "not-found")
		wrong = w.want("a method", w.ask("PATCH", "/v1/lease", nil), http.StatusMethodNotAllowed, "method")
		if got := wrong.header.Get("Allow"); got != "DELETE, GET, PUT" {
			t.Errorf("Allow: %s", got)
		}
		w.want("no reason", w.ask("POST", "/v1/revoke", m{"name": "n", "hash": "0123456789", "reason": " "}), http.StatusBadRequest, "bad-request")
		w.want("no hash", w.ask("POST", "/v1/steal", m{"name": "n", "hash": "xyz", "reason": "r"}), http.StatusBadRequest, "bad-request")
		if !w.free("n") {
			t.Error("a request that was refused has taken the name")
		}
	})
}

// Revoke and steal name the tenure that is meant, and its client hears of them.
func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		got := w.acquire(m{"name": "n", "ttl": "20s"})
		order := m{"name": "n", "hash": got.str("hash"), "reason": "drained"}
		stale := w.want("revoke of another", w.ask("POST", "/v1/revoke", order.with(m{"hash": "0123456789"})), http.StatusPreconditionFailed, "not-holder")
		if holder, _ := stale.body["holder"].(map[string]any); holder["hash"] != got.str("hash") {
			t.Errorf("412: %s", stale.text)
		}
		w.want("revoke", w.ask("POST", "/v1/revoke", order), http.StatusAccepted, "")
		gone := w.want("renew after a revoke", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")), http.StatusGone, "lost")
		if gone.str("cause") != "revoked" || gone.str("reason") != "drained" {
			t.Errorf("410: %s", gone.text)
		}
		w.want("release after a revoke", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")), http.StatusGone, "lost")
		got = w.acquire(m{"name": "n", "ttl": "20s"})
		order["hash"] = got.str("hash")
		w.want("steal", w.ask("POST", "/v1/steal", order), http.StatusOK, "")
		if gone := w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")); gone.str("cause") != "stolen" {
			t.Errorf("renew after a steal: %s", gone.text)
		}
		w.want("a second steal", w.ask("POST", "/v1/steal", order), http.StatusPreconditionFailed, "not-holder")
	})
}

// The list comes by name, in pages, filtered by prefix; free names only if asked for.
func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		for _, name := range []string{"b:3", "a:1", "a:2", "c:4", "a:0"} {
			got := w.acquire(m{"name": name})
			if name == "a:0" {
				w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", got.str("lease"))
			}
		}
		listed := func(query string) string {
			t.Helper()
			got := w.want(query, w.ask("GET", "/v1/locks"+query, nil), http.StatusOK, "")
			var names []string
			locks, _ := got.body["locks"].([]any)
			for _, l := range locks {
				names = append(names, l.(map[string]any)["name"].(string))
			}
			if next, ok := got.body["next"].(string); ok {
				names = append(names, "next="+next)
			}
			return strings.Join(names, " ")
		}
		for query, want := range map[string]string{
			"":                      "a:1 a:2 b:3 c:4",
			"?prefix=a:":            "a:1 a:2",
			"?prefix=a:&all=true":   "a:0 a:1 a:2",
			"?limit=2":              "a:1 a:2 next=a:2",
			"?limit=2&after=a:2":    "b:3 c:4",
			"?prefix=x":             "",
			"?limit=1&after=b%3A3":  "c:4",
			"?prefix=a:&after=zzzz": "",
		} {
			if got := listed(query); got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
	})
}
