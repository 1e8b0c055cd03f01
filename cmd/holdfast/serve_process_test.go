//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serving is `holdfast serve` as a process.
type serving struct {
	*runner
	url   string
	token string // sent with each request of ask and page; empty: none
}

func startServe(t *testing.T, serverURL string, flags ...string) *serving {
	t.Helper()
	r := newRun(t, serverURL, "")
	args := append([]string{"serve", "--redis", serverURL, "--listen", "127.0.0.1:0", "--grace", "2s"}, flags...)
	r.Args = append(r.Args[:1], args...)
	out, err := os.Create(filepath.Join(r.dir, "url"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r.Stdout = out
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serving{runner: r}
	until(t, "serve prints its URL", func() bool {
		text, _ := os.ReadFile(filepath.Join(r.dir, "url"))
		s.url = strings.TrimSuffix(string(text), "\n")
		return strings.HasSuffix(string(text), "\n")
	})
	return s
}

// ask sends a request and returns the status and what was answered.
func (s *serving) ask(method, path, body string) (int, map[string]any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	return s.answer(q)
}

// answer sends a request and returns the status and what was answered.
func (s *serving) answer(q *http.Request) (int, map[string]any) {
	s.authorize(q)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, nil
	}
	defer r.Body.Close()
	var answer map[string]any
	_ = json.NewDecoder(r.Body).Decode(&answer)
	return r.StatusCode, answer
}

func (s *serving) authorize(q *http.Request) {
	if s.token != "" {
		q.Header.Set("Authorization", "Bearer "+s.token)
	}
}

// by is the same server, asked with another token.
func (s *serving) by(token string) *serving { return &serving{s.runner, s.url, token} }

// page fetches a page.
func (s *serving) page(path string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.authorize(q)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// streamed takes a name by a stream that stays open; what comes by it goes to the channel,
// which is closed with the stream.
func (s *serving) streamed(body string) <-chan string {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), "POST", s.url+"/v1/leases/stream", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	s.authorize(q)
	r, err := http.DefaultClient.Do(q)
	if err != nil || r.StatusCode != http.StatusOK {
		s.t.Fatalf("stream: %+v, %v", r, err)
	}
	events := make(chan string, 1000)
	go func() {
		defer close(events)
		defer r.Body.Close()
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			events <- lines.Text()
		}
	}()
	return events
}

// event waits for one and returns its data.
func event(t *testing.T, events <-chan string, kind string) map[string]any {
	t.Helper()
	timeout := time.After(patience)
	found := false
	for {
		select {
		case line, ok := <-events:
			if !ok {
				t.Fatalf("the stream has ended before %s", kind)
			}
			if found {
				var data map[string]any
				_ = json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &data)
				return data
			}
			found = line == "event: "+kind
		case <-timeout:
			t.Fatalf("not within %v: %s", patience, kind)
		}
	}
}

// A server that is killed, kill -9, frees what its streams hold after their ttl, and not before; tokens
// rise, and a lease by request goes on by another server.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	a, b := startServe(t, redis.url()), startServe(t, redis.url())
	status, lease := a.ask("POST", "/v1/leases", `{"name": "kept", "ttl": "1m"}`)
	if status != http.StatusCreated {
		t.Fatalf("acquire: %d %v", status, lease)
	}
	events := a.streamed(`{"name": "job", "ttl": "3s"}`)
	first := event(t, events, "granted")
	event(t, events, "renewed")
	killed := time.Now()
	a.send(syscall.SIGKILL)
	next := event(t, b.streamed(`{"name": "job", "ttl": "3s", "wait": "1m"}`), "granted")
	if took := time.Since(killed); took < time.Second {
		t.Errorf("free %v after the kill: the ttl, of 3s, was not heeded", took)
	}
	if next["token"].(float64) <= first["token"].(float64) {
		t.Errorf("token %v after %v", next["token"], first["token"])
	}
	text, _ := lease["lease"].(string)
	q, err := http.NewRequestWithContext(t.Context(), "PUT", b.url+"/v1/lease", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Holdfast-Lease", text)
	r, err := http.DefaultClient.Do(q)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("renewing by another server: %+v, %v", r, err)
	}
	_ = r.Body.Close()
}

// A server that ends tells its streams, and releases what they held: the next has it at once.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	a, b := startServe(t, redis.url()), startServe(t, redis.url())
	if r, err := http.Get(a.url + "/"); err != nil || r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the pages: %+v, %v", r, err)
	} else {
		_ = r.Body.Close()
	}
	events := a.streamed(`{"name": "job", "ttl": "10m"}`)
	event(t, events, "granted")
	next := b.streamed(`{"name": "job", "wait": "1m"}`)
	event(t, next, "waiting")
	a.send(syscall.SIGTERM)
	if asked := event(t, events, "revoke-requested"); asked["cause"] != "closed" {
		t.Errorf("revoke-requested: %v", asked)
	}
	event(t, next, "granted")
	a.wantExit(0)
}

// What it locks stands in the journal, unless that is not wanted.
func TestServeWritesTheJournal(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]int64{"": 1, "--no-journal": 0} {
		server := startServer(t)
		s := startServe(t, server.URL(), strings.Fields(flags)...)
		if status, answer := s.ask("POST", "/v1/leases", `{"name": "n", "ttl": "1m"}`); status != http.StatusCreated {
			t.Fatalf("acquire: %d %v", status, answer)
		}
		s.send(syscall.SIGTERM)
		s.wantExit(0)
		got, err := server.Do("EXISTS", "holdfast/journal:holdfast:")
		if err != nil || got != want {
			t.Errorf("with %q journals: %v, %v; want %d", flags, got, err, want)
		}
	}
}

// A lease by request is exported, which is no loss to anybody: not in the metrics, the journal
// or the dashboard, whose figure of losses is as large as its list. Its release is shown too.
func TestServeLeaseIsNoLoss(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := startServe(t, server.url())
	var leases []string
	for i := range 3 {
		status, answer := s.ask("POST", "/v1/leases", fmt.Sprintf(`{"name": "n:%d", "ttl": "1m", "owner": "ci"}`, i))
		if status != http.StatusCreated {
			t.Fatalf("acquire: %d %v", status, answer)
		}
		leases = append(leases, answer["lease"].(string))
	}
	wantShown(t, 0, "", "release", leases[0], "--redis", server.url())
	for i := range 2 {
		events := s.streamed(fmt.Sprintf(`{"name": "gone:%d", "ttl": "1s"}`, i))
		event(t, events, "granted")
		server.do(t, "DEL", fmt.Sprintf("holdfast:gone:%d", i))
		event(t, events, "lost")
	}
	until(t, "/metrics counts both", func() bool {
		metrics := s.page("/metrics")
		return strings.Contains(metrics, "holdfast_exported_total{class=\"all\"} 3\n") &&
			strings.Contains(metrics, "holdfast_lost_total{cause=\"gone\",class=\"all\"} 2\n")
	})
	if strings.Contains(s.page("/metrics"), `cause="exported"`) {
		t.Error("/metrics has exports among the losses")
	}
	until(t, "the tile and its list say 2", func() bool {
		return strings.Contains(s.page("/"), ` Lost</span><span class="tile-value">2</span>`) &&
			strings.Count(s.page("/events?what=lost&since=10m"), "<tr data-key=") == 2
	})
	if page := s.page("/events?what=exported"); strings.Count(page, "<tr data-key=") != 3 || strings.Contains(page, "chip bad") {
		t.Errorf("exports: want three, and none red:\n%s", page)
	}
	until(t, "the release is in the history", func() bool {
		return strings.Contains(wantShown(t, 0, "OWNER", "history", "n:0", "--redis", server.url()), " released\n")
	})
	wantShown(t, 0, "exported, held now", "history", "n:1", "--redis", server.url())
	if out := wantShown(t, 0, "", "history", "n:1", "-o", "json", "--redis", server.url()); !regexp.MustCompile(`"owner": ?"ci"`).MatchString(out) {
		t.Errorf("history, want the owner of the lease, not of the server: %s", out)
	}
	server.do(t, "DEL", "holdfast:n:1")
	wantShown(t, 0, "exported, no end known", "history", "n:1", "--redis", server.url())
}

// A lease by request is shown as one that no process renews, also when little is left of it.
func TestServeLeaseIsShown(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := startServe(t, server.URL())
	if status, answer := s.ask("POST", "/v1/leases", `{"name": "n", "ttl": "1m", "owner": "ci"}`); status != http.StatusCreated {
		t.Fatalf("acquire: %d %v", status, answer)
	}
	// The details say that it is exported. They are stored a moment later, and show waits for
	// them for 250 ms at most.
	shows := func(want string) {
		t.Helper()
		until(t, "show says "+want, func() bool {
			var out bytes.Buffer
			code := runInProcess(t.Context(), &out, &out, "show", "n", "--redis", server.URL())
			return code == 0 && strings.Contains(out.String(), want)
		})
	}
	shows("exported: no process renews it by itself")
	if _, err := server.Do("PEXPIRE", "holdfast:n", "15000"); err != nil {
		t.Fatal(err)
	}
	shows("held-healthy: held by ci")
}

// While Redis is frozen requests are answered 503, soon, and afterwards as before.
func TestServeWithoutRedis(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	s := startServe(t, redis.url())
	if status, answer := s.ask("POST", "/v1/leases", `{"name": "n"}`); status != http.StatusCreated {
		t.Fatalf("acquire: %d %v", status, answer)
	}
	if err := redis.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	status, answer := s.ask("POST", "/v1/leases", `{"name": "m", "wait": "50s"}`)
	if status != http.StatusServiceUnavailable || answer["code"] != "unavailable" {
		t.Errorf("without Redis: %d %v", status, answer)
	}
	began := time.Now()
	for range 20 {
		if status, _ := s.ask("GET", "/v1/locks/n", ""); status != http.StatusServiceUnavailable {
			t.Errorf("without Redis: %d", status)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("20 requests took %v", took)
	}
	if err := redis.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, "it works again", func() bool { status, _ := s.ask("GET", "/readyz", ""); return status == http.StatusOK })
	if status, answer := s.ask("GET", "/v1/locks/n", ""); status != http.StatusOK || answer["held"] != true {
		t.Errorf("afterwards: %d %v", status, answer)
	}
}

// At a replica, serve is not ready and names the master. It reports no list of problems, as the
// replica hides which waiters live.
func TestServeOnReplica(t *testing.T) {
	t.Parallel()
	master, replica := startRedis(t), startRedis(t)
	host, port, _ := net.SplitHostPort(master.addr)
	replica.do(t, "REPLICAOF", host, port)
	s := startServe(t, replica.url())
	start(t, master.url(), nil, "run", "job", "--", "holdfast", "run", "job", "--", "true")
	until(t, "the waiter is on the replica", func() bool {
		_, listed, _ := lsOf(t, replica, "-o", "json")
		return strings.Contains(listed, `"listening": false`)
	})
	refusal := regexp.MustCompile("the server is a replica.*use the address of its master, " + regexp.QuoteMeta(master.addr))
	for _, path := range []string{"/v1/locks?problems=true", "/v1/locks/job", "/readyz?verbose"} {
		status, answer := s.ask("GET", path, "")
		if said := fmt.Sprint(answer); status != http.StatusServiceUnavailable || !refusal.MatchString(said) {
			t.Errorf("GET %s: %d %s", path, status, said)
		}
	}
	for _, path := range []string{"/", "/problems"} {
		if page := s.page(path); !refusal.MatchString(page) || strings.Contains(page, "No problems") {
			t.Errorf("the page %s does not name the master: %s", path, page)
		}
	}
	if page := s.page("/metrics"); !strings.Contains(page, "\nholdfast_inventory_up 0\n") {
		t.Errorf("/metrics: the inventory is up: %s", page)
	}
	if status, answer := s.ask("POST", "/v1/leases", `{"name": "other"}`); status != http.StatusServiceUnavailable || !refusal.MatchString(fmt.Sprint(answer)) {
		t.Errorf("POST /v1/leases: %d %v", status, answer)
	}
}
