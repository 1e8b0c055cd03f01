package server_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/server"
)

// Semaphores: permits are shared out and returned, the stored size counts, and each lease has its
// owner, ttl and token. Renewals keep a lease, and the silent lose theirs.
func TestSemaphoreLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		wish := m{"name": "gpu", "of": 3, "ttl": "20s"}
		two := w.acquire(wish.with(m{"permits": 2, "owner": "two"}))
		one := w.acquire(wish.with(m{"owner": "one"}))
		if two.str("owner") != "two" || two.num("ttl_ms") != 20_000 || one.num("token") <= two.num("token") || two.str("hash") == one.str("hash") {
			t.Errorf("got %s and %s", two.text, one.text)
		}
		shown := w.ask("GET", "/v1/locks/gpu", nil)
		if shown.str("kind") != "semaphore" || shown.num("size") != 3 || shown.num("used") != 3 || shown.num("holding") != 2 {
			t.Errorf("show: %s", shown.text)
		}
		w.want("a fourth permit", w.ask("POST", "/v1/leases", wish), http.StatusConflict, "held")
		w.want("a mutex", w.ask("POST", "/v1/leases", m{"name": "gpu"}), http.StatusConflict, "kind")
		w.want("a reader", w.ask("POST", "/v1/leases", m{"name": "gpu", "shared": true}), http.StatusConflict, "kind")
		w.want("more than the stored size", w.ask("POST", "/v1/leases", m{"name": "gpu", "of": 9, "permits": 9, "wait": "1s"}), http.StatusBadRequest, "bad-request")
		for range 3 { // longer than the ttl
			time.Sleep(15 * time.Second)
			renewed := w.want("renew", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", two.str("lease")), http.StatusOK, "")
			if left := renewed.num("remaining_ms"); left <= 19_000 || left >= 20_000 || renewed.num("token") != two.num("token") {
				t.Errorf("renew: %s", renewed.text)
			}
		}
		gone := w.want("one that was not renewed", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", one.str("lease")), http.StatusGone, "lost")
		if gone.str("cause") != "gone" {
			t.Errorf("not renewed: %s", gone.text)
		}
		w.want("release", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", two.str("lease")), http.StatusNoContent, "")
		w.want("release again", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", two.str("lease")), http.StatusGone, "lost")
		if !w.free("gpu") {
			t.Error("not free after all were released")
		}
	})
}

// Readers hold together, a writer alone; a reader waits behind a writer that came before it.
func TestReaderWriterLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		read, write := m{"name": "index", "shared": true, "ttl": "1m"}, m{"name": "index", "exclusive": true, "ttl": "1m"}
		a, b := w.acquire(read), w.acquire(read)
		w.want("a writer", w.ask("POST", "/v1/leases", write), http.StatusConflict, "held")
		got := make(chan reply, 2)
		go func() { got <- w.ask("POST", "/v1/leases", write.with(m{"wait": "30s", "owner": "writer"})) }()
		soon(t, "the writer waits", func() bool { return w.ask("GET", "/v1/locks/index", nil).num("waiting") == 1 })
		w.want("a reader behind it", w.ask("POST", "/v1/leases", read), http.StatusConflict, "held")
		if checked := w.ask("GET", "/v1/lease", nil, "Holdfast-Lease", a.str("lease")); checked.num("waiting") != 1 {
			t.Errorf("check: %s", checked.text)
		}
		for _, lease := range []reply{a, b} {
			w.want("release", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", lease.str("lease")), http.StatusNoContent, "")
		}
		writer := w.want("the writer", <-got, http.StatusCreated, "")
		if writer.num("token") <= b.num("token") {
			t.Errorf("the writer has token %d after %d", writer.num("token"), b.num("token"))
		}
		shown := w.ask("GET", "/v1/locks/index", nil)
		if holder, _ := shown.body["holder"].(map[string]any); holder["mode"] != "write" || holder["owner"] != "writer" {
			t.Errorf("show: %s", shown.text)
		}
	})
}

// A permit whose client died goes to a request of the same server that waits, once its ttl is over.
func TestSemaphoreLeaseOfADeadClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		w.acquire(m{"name": "gpu", "of": 1, "ttl": "5s"})
		began := time.Now()
		w.acquire(m{"name": "gpu", "of": 1, "wait": "30s"})
		if took := time.Since(began); took < 4900*time.Millisecond || took > 8*time.Second {
			t.Errorf("the next had it after %v, want about 5 s", took)
		}
	})
}

// Of several holders one can be revoked or stolen. Its lease is over; the others stand.
func TestSharedLeaseIsRevoked(t *testing.T) {
	for what, cause := range map[string]string{"revoke": "revoked", "steal": "stolen"} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, nil)
			wish := m{"name": "gpu", "of": 2, "ttl": "5s"}
			victim, other := w.acquire(wish), w.acquire(wish)
			order := m{"name": "gpu", "hash": victim.str("hash"), "reason": "drained"}
			if got := w.ask("POST", "/v1/"+what, order); got.status >= 300 {
				t.Fatalf("%s: %d %s", what, got.status, got.text)
			}
			for range 3 { // asking does not prolong it
				time.Sleep(time.Second)
				for _, method := range []string{"PUT", "GET"} {
					over := w.want(method, w.ask(method, "/v1/lease", nil, "Holdfast-Lease", victim.str("lease")), http.StatusGone, "lost")
					if over.str("cause") != cause || over.str("reason") != "drained" {
						t.Errorf("%s after %s: %s", method, what, over.text)
					}
				}
				w.want("the other", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", other.str("lease")), http.StatusOK, "")
			}
			time.Sleep(2100 * time.Millisecond)
			if used := w.ask("GET", "/v1/locks/gpu", nil).num("used"); used != 1 {
				t.Errorf("%d permits are used after the ttl of the one that was ended, want 1", used)
			}
			w.want("a free permit", w.ask("POST", "/v1/leases", wish), http.StatusCreated, "")
		})
	}
}

// A revoked lease that is released frees its part at once.
func TestRevokedSharedLeaseIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		wish := m{"name": "gpu", "of": 1, "ttl": "1m"}
		got := w.acquire(wish)
		w.want("revoke", w.ask("POST", "/v1/revoke", m{"name": "gpu", "hash": got.str("hash"), "reason": "drained"}), http.StatusAccepted, "")
		w.want("release", w.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")), http.StatusGone, "lost")
		w.acquire(wish)
	})
}

// The same key gets the same permit, and another server renews and releases it, also after the
// first is closed.
func TestSharedLeaseIsRepeatedAndMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		wish := m{"name": "gpu", "of": 2, "ttl": "30s"}
		first := w.want("first", w.ask("POST", "/v1/leases", wish, "Idempotency-Key", "k"), http.StatusCreated, "")
		again := w.want("again", w.ask("POST", "/v1/leases", wish, "Idempotency-Key", "k"), http.StatusCreated, "")
		if again.str("lease") != first.str("lease") || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("again: %v %s", again.header, again.text)
		}
		w.want("another kind", w.ask("POST", "/v1/leases", wish.with(m{"of": 3}), "Idempotency-Key", "k"), http.StatusUnprocessableEntity, "key-reused")
		if used := w.ask("GET", "/v1/locks/gpu", nil).num("used"); used != 1 {
			t.Errorf("%d permits are used, want 1", used)
		}
		if err := w.client.Close(); err != nil {
			t.Error(err)
		}
		other := serveOn(t, newClient(t, w.store), nil)
		time.Sleep(20 * time.Second)
		other.want("renew", other.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", first.str("lease")), http.StatusOK, "")
		time.Sleep(20 * time.Second)
		other.want("check", other.ask("GET", "/v1/lease", nil, "Holdfast-Lease", first.str("lease")), http.StatusOK, "")
		other.want("release", other.ask("DELETE", "/v1/lease", nil, "Holdfast-Lease", first.str("lease")), http.StatusNoContent, "")
	})
}

// A stream may hold a permit, too.
func TestStreamOfAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		e := w.stream(m{"name": "gpu", "of": 1, "ttl": "6s"})
		e.next("granted")
		e.next("renewed")
		w.want("the only permit", w.ask("POST", "/v1/leases", m{"name": "gpu", "of": 1}), http.StatusConflict, "held")
		e.close()
		soon(t, "it is free", func() bool { return w.free("gpu") })
	})
}

// A foreign value in the lock key ends all parts, and a renewal does not give one back.
func TestSharedLeaseUnderAForeignKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		got := w.acquire(m{"name": "gpu", "of": 2})
		if _, err := w.store.Do("SET", "holdfast:gpu", "another program's"); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"PUT", "GET"} {
			if over := w.want(method, w.ask(method, "/v1/lease", nil, "Holdfast-Lease", got.str("lease")), http.StatusGone, "lost"); over.str("cause") != "taken" {
				t.Errorf("%s: %s", method, over.text)
			}
		}
	})
}

// Renewals keep the fence key, so that tokens rise after a hold that was longer than it lives.
func TestSharedLeaseKeepsTheFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		got := w.acquire(m{"name": "index", "exclusive": true, "ttl": "24h"})
		for range 4 {
			time.Sleep(8 * time.Hour)
			w.want("renew", w.ask("PUT", "/v1/lease", nil, "Holdfast-Lease", got.str("lease")), http.StatusOK, "")
		}
		left, err := w.store.Do("PTTL", "holdfast/fence:{holdfast:index}")
		if ms, ok := left.(int64); err != nil || !ok || ms < (24*time.Hour).Milliseconds() {
			t.Errorf("the fence key lives for %v ms more, %v; want a day", left, err)
		}
	})
}

// A body that contradicts itself is refused before anything is done.
func TestKindsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &server.Options{})
		for _, more := range []m{
			{"shared": true, "exclusive": true}, {"shared": true, "of": 2}, {"exclusive": true, "permits": 1}, {"permits": 2}, {"of": -1},
			{"of": 2, "permits": 3}, {"of": 2, "permits": -1}, {"of": 1 << 31}, {"of": "2"}, {"shared": 1},
		} {
			for _, path := range []string{"/v1/leases", "/v1/leases/stream"} {
				w.want(path, w.ask("POST", path, m{"name": "n"}.with(more)), http.StatusBadRequest, "bad-request")
			}
		}
		if !w.free("n") {
			t.Error("a request that was refused has taken the name")
		}
	})
}
