//go:build unix

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/server/auth"
)

// newTokens writes a file with a token for each role, and returns their lines, too.
func newTokens(t *testing.T, roles ...auth.Role) (file string, secrets, lines []string) {
	t.Helper()
	for i, role := range roles {
		secret, line, err := auth.NewToken(role, fmt.Sprintf("team %d", i))
		if err != nil {
			t.Fatal(err)
		}
		secrets, lines = append(secrets, secret), append(lines, line)
	}
	file = filepath.Join(t.TempDir(), "tokens")
	writeTokens(t, file, lines...)
	return file, secrets, lines
}

func writeTokens(t *testing.T, file string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(strings.Join(append(lines, ""), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// logs waits until a server has logged a text.
func logs(s *serving, want string) {
	s.t.Helper()
	until(s.t, "it logs "+want, func() bool { return strings.Contains(s.stderr.String(), want) })
}

// An attacker has a token that the operator withdraws, and the file is not as it should be then: it
// has a bad line, is empty, or is gone.
func TestServeTokenIsWithdrawn(t *testing.T) {
	t.Parallel()
	file, secrets, lines := newTokens(t, auth.Admin, auth.Viewer)
	s := startServe(t, startServer(t).URL(), "--tokens", file)
	attacker, viewer := s.by(secrets[0]), s.by(secrets[1])
	admitted := func(s *serving) bool { status, _ := s.ask("GET", "/v1/locks", ""); return status == http.StatusOK }
	ready := func() int { status, _ := s.ask("GET", "/readyz", ""); return status }
	if !admitted(attacker) || !admitted(viewer) || ready() != http.StatusOK {
		t.Fatal("a token of the file is refused")
	}
	writeTokens(t, file, "user nonsense", lines[1])
	until(t, "a bad line keeps no token that was withdrawn", func() bool { return !admitted(attacker) })
	if !admitted(viewer) || ready() != http.StatusOK {
		t.Error("a bad line has ended the token of another line")
	}
	if _, verbose := viewer.ask("GET", "/readyz?verbose", ""); !strings.Contains(fmt.Sprint(verbose["tokens"]), "line 1: ") {
		t.Errorf("/readyz?verbose does not name the bad line: %v", verbose)
	}
	if page := viewer.page("/metrics"); !strings.Contains(page, "\nholdfast_tokens_up 0\n") {
		t.Error("/metrics does not say that a line is bad")
	}
	logs(s, "the other lines count")
	mended := 0
	mend := func() {
		t.Helper()
		writeTokens(t, file, lines...)
		until(t, "a file without a mistake counts", func() bool { return admitted(attacker) && admitted(viewer) && ready() == http.StatusOK })
		if page := viewer.page("/metrics"); !strings.Contains(page, "\nholdfast_tokens_up 1\n") {
			t.Error("/metrics says that something is wrong")
		}
		mended++
		if got := strings.Count(s.stderr.String(), "the token file has no mistake now"); got != mended {
			t.Errorf("the log says %d times that a file was mended; want %d", got, mended)
		}
	}
	mend()
	for what, spoil := range map[string]func(){
		"empty":     func() { writeTokens(t, file) },
		"deleted":   func() { _ = os.Remove(file) },
		"bad alone": func() { writeTokens(t, file, "admin nonsense") },
	} {
		spoil()
		until(t, what+": nobody gets in", func() bool { return !admitted(attacker) && !admitted(viewer) })
		if got := ready(); got != http.StatusServiceUnavailable {
			t.Errorf("%s: /readyz: %d", what, got)
		}
		if _, answer := viewer.ask("GET", "/v1/locks", ""); !strings.Contains(fmt.Sprint(answer["detail"]), "no valid token now") {
			t.Errorf("%s: a client with a good token is told %v", what, answer)
		}
		logs(s, "all tokens are refused")
		mend()
	}
}

// The log says which admin has ended a lease, also without --verbose. With --quiet it does not.
func TestServeLogsAdmins(t *testing.T) {
	t.Parallel()
	file, secrets, _ := newTokens(t, auth.Admin)
	redis := startServer(t).URL()
	loud := startServe(t, redis, "--tokens", file)
	quiet := startServe(t, redis, "--tokens", file, "--quiet")
	for i, s := range []*serving{loud, quiet} {
		admin := s.by(secrets[0])
		for _, act := range []string{"revoke", "steal"} {
			name := fmt.Sprintf("%s:%d", act, i)
			_, lease := admin.take(name, "1m", "")
			until(t, act+" is answered in time", func() bool {
				status, answer := admin.ask("POST", "/v1/"+act, fmt.Sprintf(`{"name": %q, "hash": %q, "reason": "it hangs"}`, name, lease["hash"]))
				if status >= 300 && status != http.StatusServiceUnavailable { // which a busy machine gets
					t.Fatalf("%s: %d %v", act, status, answer)
				}
				return status < 300
			})
		}
		if status, _ := admin.ask("LOCK", "/v1/terraform/state", `{"ID": "1"}`); status != http.StatusOK {
			t.Fatalf("LOCK: %d", status)
		}
		if status, _ := admin.ask("UNLOCK", "/v1/terraform/state", ""); status != http.StatusOK {
			t.Fatalf("UNLOCK: %d", status)
		}
	}
	for _, want := range []string{"server: revoke", "server: steal", "server: unlock"} {
		logs(loud, want)
		if strings.Contains(quiet.stderr.String(), want) {
			t.Errorf("--quiet logs %s", want)
		}
	}
	said := loud.stderr.String()
	if acts := strings.Count(said, " server: "); acts < 3 || strings.Count(said, `by="team 0"`) != acts || strings.Contains(said, "<nil>") {
		t.Errorf("the log does not say who it was:\n%s", said)
	}
}

// An attacker with a user's token takes as many Idempotency-Keys as the server gives.
func TestServeKeysOfOneToken(t *testing.T) {
	t.Parallel()
	file, secrets, _ := newTokens(t, auth.User, auth.User)
	redis := startRedis(t)
	s := startServe(t, redis.url(), "--tokens", file)
	attacker, other := s.by(secrets[0]), s.by(secrets[1])
	var taken, next atomic.Int64
	var refusal, text atomic.Value // the last answers
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for {
				n := next.Add(1)
				status, answer := attacker.take(fmt.Sprintf("n:%d", n), "24h", fmt.Sprintf("key %d", n))
				if status != http.StatusCreated || taken.Add(1) > 11_000 {
					refusal.Store(answer)
					return
				}
				text.Store(answer["lease"])
			}
		})
	}
	all.Wait()
	t.Logf("one token got %d keys", taken.Load())
	if said := fmt.Sprint(refusal.Load()); !strings.Contains(said, "release leases") {
		t.Errorf("the last one was told: %s", said)
	}
	status, lease := other.take("other", "1m", "key")
	if status != http.StatusCreated {
		t.Errorf("another token, after %d keys: %d %v", taken.Load(), status, lease)
	}
	if status, _ := attacker.take("without", "1m", ""); status != http.StatusCreated {
		t.Errorf("without a key: %d", status)
	}
	// A lease that has ended makes room, also if another server or program ended it.
	attacker.release(text.Load().(string))
	if status, answer := attacker.take("more", "24h", "more"); status != http.StatusCreated {
		t.Errorf("after a release: %d %v", status, answer)
	}
	if status, answer := attacker.take("too many", "24h", "too many"); status != http.StatusServiceUnavailable {
		t.Errorf("after one more: %d %v", status, answer)
	}
	over := []string{"DEL"}
	for n := range next.Load() {
		over = append(over, fmt.Sprintf("holdfast:n:%d", n))
	}
	redis.do(t, over...)
	if status, answer := attacker.take("most", "1m", "most"); status != http.StatusCreated {
		t.Errorf("after the leases have ended: %d %v", status, answer)
	}
}

// take takes a lease; an empty key is none.
func (s *serving) take(name, ttl, key string) (int, map[string]any) {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), "POST", s.url+"/v1/leases", strings.NewReader(fmt.Sprintf(`{"name": %q, "ttl": %q}`, name, ttl)))
	if err != nil {
		s.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if key != "" {
		q.Header.Set("Idempotency-Key", key)
	}
	return s.answer(q)
}

func (s *serving) release(lease string) {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), "DELETE", s.url+"/v1/lease", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	q.Header.Set("Holdfast-Lease", lease)
	if status, answer := s.answer(q); status != http.StatusNoContent {
		s.t.Errorf("DELETE: %d %v", status, answer)
	}
}

// An attacker with a user's token reads the ID of another's lock of Terraform in its owner, and
// unlocks with that.
func TestServeTerraformOfAnotherToken(t *testing.T) {
	t.Parallel()
	file, secrets, _ := newTokens(t, auth.User, auth.User, auth.Admin)
	redis := startRedis(t)
	s := startServe(t, redis.url(), "--tokens", file, "--max-ttl", "1h")
	second := startServe(t, redis.url(), "--tokens", file) // another server of the same Redis
	const path, id = "/v1/terraform/prod", "7c8a1f4e-2f0e-4c64-8d20-3a4e5b1c9d77"
	body := `{"ID": "` + id + `", "Who": "ann@laptop"}`
	mine, attacker, admin := s.by(secrets[0]), s.by(secrets[1]), s.by(secrets[2])
	lock := func() {
		t.Helper()
		if status, answer := mine.ask("POST", path, body); status != http.StatusOK {
			t.Fatalf("LOCK: %d %v", status, answer)
		}
	}
	lock()
	left, err := strconv.Atoi(strings.Trim(redis.do(t, "PTTL", "holdfast:prod"), ":\r\n"))
	if err != nil || left > int(time.Hour/time.Millisecond) {
		t.Errorf("--max-ttl 1h: the lock has %d ms left, %v", left, err)
	}
	_, shown := attacker.ask("GET", "/v1/locks/prod", "")
	holder, _ := shown["holder"].(map[string]any)
	if owner := fmt.Sprint(holder["owner"]); !strings.HasPrefix(owner, "terraform/"+id) || !strings.HasSuffix(owner, " ann@laptop") {
		t.Errorf("the owner is %q", owner)
	}
	for _, s := range []*serving{attacker, second.by(secrets[1])} {
		if status, answer := s.ask("DELETE", path, body); status != http.StatusForbidden {
			t.Errorf("UNLOCK with the token of another: %d %v", status, answer)
		}
	}
	logs(s, "refused")
	if status, answer := attacker.ask("POST", path, body); status != http.StatusLocked || answer["ID"] != id || answer["Who"] != "ann@laptop" {
		t.Errorf("LOCK with the token of another: %d %v", status, answer)
	}
	for _, may := range []*serving{mine, second.by(secrets[0]), admin} {
		if status, answer := may.ask("DELETE", path, body); status != http.StatusOK {
			t.Errorf("UNLOCK: %d %v", status, answer)
		}
		if status, answer := attacker.ask("POST", path, strings.Replace(body, id, "another", 1)); status != http.StatusOK {
			t.Errorf("LOCK after UNLOCK: %d %v", status, answer)
		}
		if status, answer := attacker.ask("DELETE", path, strings.Replace(body, id, "another", 1)); status != http.StatusOK {
			t.Errorf("UNLOCK: %d %v", status, answer)
		}
		lock()
	}
}
