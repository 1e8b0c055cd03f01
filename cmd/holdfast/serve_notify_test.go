//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// receiver is a web server that gets posts. The first of them may fail.
type receiver struct {
	url string // with a secret in its path

	mu    sync.Mutex // protects the rest
	fails int        // posts that are still answered 503
	posts []string
}

func startReceiver(t *testing.T, fails int) *receiver {
	t.Helper()
	r := &receiver{fails: fails}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if q.Method != http.MethodPost || q.URL.Path != "/services/hunter2" || q.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s %s with %s", q.Method, q.URL, q.Header.Get("Content-Type"))
		}
		if r.fails--; r.fails >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.posts = append(r.posts, string(body))
	}))
	t.Cleanup(s.Close)
	r.url = s.URL + "/services/hunter2"
	return r
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.posts)
}

// changes are the names that began, as +name, and that ended, as -name. A change that was posted
// again, with the same time of its begin, is the same.
func (r *receiver) changes(t *testing.T) (all []string) {
	t.Helper()
	seen := map[string]bool{}
	add := func(change, since string) {
		if !seen[change+since] {
			seen[change+since] = true
			all = append(all, change)
		}
	}
	for _, post := range r.got() {
		var m struct {
			Began, Ended []struct{ Name, Code, Since string }
		}
		if err := json.Unmarshal([]byte(post), &m); err != nil {
			t.Fatalf("%s: %v", post, err)
		}
		for _, p := range m.Began {
			add("+"+p.Name+" "+p.Code, p.Since)
		}
		for _, p := range m.Ended {
			add("-"+p.Name+" "+p.Code, p.Since)
		}
	}
	slices.Sort(all)
	return all
}

// stick leaves a name locked without an expiry, which is a problem.
func stick(t *testing.T, s *serving, server *realServer, name string) {
	t.Helper()
	if status, answer := s.ask("POST", "/v1/leases", `{"name": "`+name+`", "ttl": "10m"}`); status != http.StatusCreated {
		t.Fatalf("acquire: %d %v", status, answer)
	}
	server.do(t, "PERSIST", "holdfast:"+name)
}

// longUntil is until for what takes longer than patience: a ttl, and the time that a problem
// stands before it is posted.
func longUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", 3*patience, what)
		}
	}
}

// Of two servers one posts. When it is killed, the other one posts what has begun and ended since.
// It may repeat a post that the first had no time to record.
func TestServeNotifies(t *testing.T) {
	t.Parallel()
	redis, to := startRedis(t), startReceiver(t, 0)
	first := startServe(t, redis.url(), "--notify", to.url)
	until(t, "the first leads", func() bool {
		_, answer := first.ask("GET", "/v1/locks/holdfast-notify", "")
		return answer["held"] == true
	})
	second := startServe(t, redis.url(), "--notify", to.url)
	stick(t, second, redis, "ends")
	stick(t, second, redis, "stays")
	longUntil(t, "both begin", func() bool { return len(to.changes(t)) >= 2 })
	first.send(syscall.SIGKILL)
	first.exit()
	redis.do(t, "DEL", "holdfast:ends")
	stick(t, second, redis, "new")
	want := []string{"+ends no-ttl", "+new no-ttl", "+stays no-ttl", "-ends no-ttl"}
	longUntil(t, "the second posts", func() bool { return len(to.changes(t)) >= len(want) })
	if got := to.changes(t); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	second.send(syscall.SIGTERM)
	second.wantExit(0)
	if said := first.stderr.String() + second.stderr.String(); strings.Contains(said, "hunter2") {
		t.Errorf("the URL was logged:\n%s", said)
	}
}

// In Slack's shape, with a limit, from a file, to a receiver that fails at first.
func TestServeNotifiesSlack(t *testing.T) {
	t.Parallel()
	redis, to := startRedis(t), startReceiver(t, 2)
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte(to.url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, redis.url(), "--notify-file", file, "--notify-format", "slack", "--notify-limit", "2", "--no-alert", "A*", "-v")
	for _, name := range []string{"A/1", "a", "b", "c"} {
		stick(t, s, redis, name)
	}
	longUntil(t, "two posts", func() bool { return len(to.got()) >= 2 })
	source := " [" + redis.url() + "]"
	for i, want := range [][]string{
		{`{"text":"a has a problem: no-ttl: held by `, source + `"}`},
		{`{"text":"problems that began: 2: b (no-ttl), c (no-ttl)`, source + `"}`},
	} {
		if got := to.got()[i]; !strings.HasPrefix(got, want[0]) || !strings.HasSuffix(got, want[1]) {
			t.Errorf("got %s, want %s ... %s", got, want[0], want[1])
		}
	}
	for _, want := range []string{`{result="posted"} 2`, `{result="retried"} 2`, `{result="failed"} 0`} {
		longUntil(t, "in /metrics "+want, func() bool { // a post is counted after the receiver has answered
			return strings.Contains(s.page("/metrics"), "\nholdfast_notifications_total"+want+"\n")
		})
	}
	s.send(syscall.SIGTERM)
	s.wantExit(0)
	if said := s.stderr.String(); strings.Contains(said, "hunter2") {
		t.Errorf("the URL was logged:\n%s", said)
	}
}

// Mistakes are refused, without the URL.
func TestServeNotifyMistakes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{64, "--notify: the URL must begin with http", []string{"--notify", "hunter2"}},
		{64, "exclude each other", []string{"--notify", "https://x.test/hunter2", "--notify-file", file}},
		{64, `unknown format "teams"`, []string{"--notify", "https://x.test/hunter2", "--notify-format", "teams"}},
		{64, "--notify-limit must be 1 or more", []string{"--notify", "https://x.test/hunter2", "--notify-limit", "0"}},
		{78, "the URL must begin with http", []string{"--notify-file", file}},
		{78, "no such file", []string{"--notify-file", file + "-gone"}},
	} {
		var out, talk bytes.Buffer
		args := append([]string{"serve", "--listen", "127.0.0.1:0", "--redis", "redis://127.0.0.1:1"}, c.args...)
		if code := runInProcess(t.Context(), &out, &talk, args...); code != c.code || !strings.Contains(talk.String(), c.want) || strings.Contains(talk.String(), "hunter2") {
			t.Errorf("%q: exit code %d, %s", c.args, code, &talk)
		}
	}
}
