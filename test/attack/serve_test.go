package attack_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// flood sends n requests of each kind from 16 clients at a time, and counts the answers by status.
func (s server) flood(n int, paths ...string) map[int]int {
	s.t.Helper()
	client := &http.Client{Timeout: clienttest.Patience, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	got := map[int]int{}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range n * len(paths) / 16 {
				status := 0
				if r, err := client.Get(s.url() + paths[i%len(paths)]); err == nil {
					status = r.StatusCode
					_ = r.Body.Close()
				}
				mu.Lock()
				got[status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return got
}

// Redis gets one probe a second from any number of requests for /readyz. While Redis hangs, they get
// 503 and do not pile up.
func TestServeReadyCostsRedisNothing(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, redistest.Options{})
	s := serve(t, redis.URL())
	before, began := clienttest.Commands(t, redis), time.Now()
	got := s.flood(1600, "/readyz", "/readyz?verbose")
	ran, most := clienttest.Commands(t, redis)-before, 4*int64(time.Since(began)/time.Second+2) // a probe is two, four when they are loaded
	t.Logf("%v cost %d scripts in %v", got, ran, time.Since(began))
	if got[http.StatusOK] != 3200 || ran > most {
		t.Errorf("3,200 requests: %v; and %d scripts, want at most %d", got, ran, most)
	}
	if err := redis.Freeze(); err != nil {
		t.Fatal(err)
	}
	ready := func(want int) func() bool {
		return func() bool { status, _ := s.ask("GET", "/readyz", ""); return status == want }
	}
	clienttest.Eventually(t, "it is not ready", ready(http.StatusServiceUnavailable))
	if got := s.flood(800, "/readyz", "/readyz?verbose"); fmt.Sprint(got) != "map[503:1600]" {
		t.Errorf("while Redis hangs: %v, want 1,600 times 503", got)
	}
	if err := redis.Thaw(); err != nil {
		t.Fatal(err)
	}
	clienttest.Eventually(t, "it is ready", ready(http.StatusOK))
}

// profiles waits until serve says where its profiles are.
func (s server) profiles() (url string) {
	s.t.Helper()
	clienttest.Eventually(s.t, "serve says where its profiles are", func() bool {
		if found := regexp.MustCompile(`profiles at (http\S+)/debug/pprof/`).FindStringSubmatch(s.said.String()); found != nil {
			url = found[1]
		}
		return url != ""
	})
	return url
}

// A web page reads no profile: not by a name that it gave our address, not from another site. A
// profile shows no password of the command line.
func TestServeProfilesAreLocal(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, redistest.Options{Password: "s3cr3t"})
	s := serve(t, "redis://:s3cr3t@"+redis.Addr(), "--admin-listen", "127.0.0.1:0")
	s.first = s.profiles()
	for _, path := range []string{"", "cmdline", "goroutine?debug=2", "heap?debug=1", "allocs", "symbol"} {
		for want, headers := range map[int][]string{
			http.StatusOK:                 {},
			http.StatusMisdirectedRequest: {"Host", "evil.example:7421"},
			http.StatusForbidden:          {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		} {
			r, err := s.send("GET", "/debug/pprof/"+path, "", headers...)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			if r.StatusCode != want || err != nil || strings.Contains(string(text), "s3cr3t") {
				t.Errorf("%q with %v: %d, %v, want %d: %.300s", path, headers, r.StatusCode, err, want, text)
			}
		}
	}
}

// Connections for profiles end at once, so that many cost the server none of its own.
func TestServeProfilesKeepNoConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, redistest.Start(t, redistest.Options{}).URL(), "--admin-listen", "127.0.0.1:0")
	address := strings.TrimPrefix(s.profiles(), "http://")
	var all []net.Conn
	for range 100 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(clienttest.Patience))
		_, _ = fmt.Fprint(conn, "GET /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\n\r\n") // it may be refused
		all = append(all, conn)
	}
	for i, conn := range all {
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is still open", i)
		}
	}
}

// openIdle opens n connections: silent ones, some with half a request, and some that are idle after
// a request without a token.
func (s server) openIdle(n int) {
	s.t.Helper()
	for i := range n {
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url(), "http://"), clienttest.Patience)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = c.Close() })
		switch i % 3 {
		case 1:
			_, _ = io.WriteString(c, "POST /v1/leases HTTP/1.1\r\nHost: ")
		case 2:
			_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
}

// Anonymous connections keep no renewal out, and end no stream.
func TestServeAnonymousConnections(t *testing.T) {
	t.Parallel()
	secret, line, err := auth.NewToken(auth.User, "team")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, redistest.Start(t, redistest.Options{}).URL(), "--tokens", file, "--max-connections", "200")
	s.token = secret
	stream, err := s.send("POST", "/v1/leases/stream", `{"name": "stream", "ttl": "30s"}`)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("stream: %+v, %v", stream, err)
	}
	var events child.Output
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(&events, stream.Body)
	}()
	defer stream.Body.Close()
	clienttest.Eventually(t, "the stream has its lease", func() bool { return strings.Contains(events.String(), "event: granted") })
	lease, longest := s.acquire("n"), time.Duration(0)
	for range 5 {
		s.openIdle(200)
		began := time.Now()
		if status, answer := s.ask("PUT", "/v1/lease", "", "Holdfast-Lease", lease); status != http.StatusOK {
			t.Fatalf("a renewal behind 200 anonymous connections, after %v: %d %v", time.Since(began), status, answer)
		}
		longest = max(longest, time.Since(began))
	}
	t.Logf("the slowest renewal took %v", longest)
	select {
	case <-over:
		t.Error("the stream has ended")
	default:
	}
	if text := events.String(); strings.Contains(text, "lost") {
		t.Errorf("the stream: %s", text)
	}
	if status, held := s.ask("GET", "/v1/locks/stream", ""); status != http.StatusOK || held["holder"] == nil {
		t.Errorf("the lease of the stream: %d %v", status, held)
	}
}

// 200 viewers, each of another page, keep no renewal out. It needs the machine for itself.
func TestServeManyViewers(t *testing.T) {
	redis := redistest.Start(t, redistest.Options{})
	for first := 0; first < 2000; first += 100 {
		set := []any{"MSET"}
		for i := range 100 {
			set = append(set, fmt.Sprintf("holdfast:n:%d", first+i), "somebody else")
		}
		redis.MustDo(t, set...)
	}
	s := serve(t, redis.URL())
	lease := s.acquire("mine")
	viewers := &http.Client{Timeout: clienttest.Patience, Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	defer viewers.CloseIdleConnections()
	var all sync.WaitGroup
	var pages atomic.Int64
	over := make(chan struct{})
	for i := range 200 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				if r, err := viewers.Get(fmt.Sprintf("%s/locks?state=all&q=n:%d", s.url(), (i+200*n)%1000)); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					_ = r.Body.Close()
					pages.Add(1)
				}
			}
		})
	}
	clienttest.Eventually(t, "all have a page", func() bool { return pages.Load() >= 200 })
	longest := time.Duration(0)
	for range 20 {
		began := time.Now()
		if status, answer := s.ask("PUT", "/v1/lease", "", "Holdfast-Lease", lease); status != http.StatusOK {
			t.Errorf("a renewal among 200 viewers, after %v: %d %v", time.Since(began), status, answer)
		}
		longest = max(longest, time.Since(began))
	}
	close(over)
	all.Wait()
	t.Logf("%d pages; the slowest renewal took %v", pages.Load(), longest)
}
