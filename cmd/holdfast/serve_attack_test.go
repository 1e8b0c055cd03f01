//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/server/auth"
)

// scripts is how many scripts a server has run.
func (s *realServer) scripts(t *testing.T) (n int) {
	t.Helper()
	for _, calls := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`).FindAllStringSubmatch(s.do(t, "INFO", "commandstats"), -1) {
		of, _ := strconv.Atoi(calls[1])
		n += of
	}
	return n
}

// flood sends n requests of each kind from 16 clients at a time, and counts the answers by status.
func (s *serving) flood(n int, paths ...string) map[int]int {
	s.t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	got := map[int]int{}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range n * len(paths) / 16 {
				status := 0
				if r, err := client.Get(s.url + paths[i%len(paths)]); err == nil {
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
	redis := startRedis(t)
	s := startServe(t, redis.url())
	before, began := redis.scripts(t), time.Now()
	got := s.flood(1600, "/readyz", "/readyz?verbose")
	ran, most := redis.scripts(t)-before, 4*int(time.Since(began)/time.Second+2) // a probe is two, four when they are loaded
	t.Logf("%v cost %d scripts in %v", got, ran, time.Since(began))
	if got[http.StatusOK] != 3200 || ran > most {
		t.Errorf("3,200 requests: %v; and %d scripts, want at most %d", got, ran, most)
	}
	redis.freeze(t)
	until(t, "it is not ready", func() bool { status, _ := s.ask("GET", "/readyz", ""); return status == http.StatusServiceUnavailable })
	if got := s.flood(800, "/readyz", "/readyz?verbose"); fmt.Sprint(got) != "map[503:1600]" {
		t.Errorf("while Redis hangs: %v, want 1,600 times 503", got)
	}
	redis.thaw(t)
	until(t, "it is ready", func() bool { status, _ := s.ask("GET", "/readyz", ""); return status == http.StatusOK })
}

// A web page reads no profile: not by a name that it gave our address, not from another site. A
// profile shows no password of the command line.
func TestServeProfilesAreLocal(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	redis.do(t, "CONFIG", "SET", "requirepass", "s3cr3t")
	s := startServe(t, "redis://:s3cr3t@"+redis.addr, "--admin-listen", "127.0.0.1:0")
	var profiles []string
	until(t, "serve says where its profiles are", func() bool {
		profiles = regexp.MustCompile(`profiles at (http\S+)/debug/pprof/`).FindStringSubmatch(s.stderr.String())
		return profiles != nil
	})
	get := func(path string, headers ...string) (int, string) {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), "GET", profiles[1]+"/debug/pprof/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			q.Header.Set(headers[i], headers[i+1])
		}
		if host := q.Header.Get("Host"); host != "" {
			q.Host = host
		}
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	for _, path := range []string{"", "cmdline", "goroutine?debug=2", "heap?debug=1", "allocs", "symbol"} {
		for want, headers := range map[int][]string{
			http.StatusOK:                 {},
			http.StatusMisdirectedRequest: {"Host", "evil.example:7421"},
			http.StatusForbidden:          {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		} {
			if status, text := get(path, headers...); status != want || strings.Contains(text, "s3cr3t") {
				t.Errorf("%q with %v: %d, want %d: %.300s", path, headers, status, want, text)
			}
		}
	}
}

// Connections for profiles end at once, so that many cost the server none of its own.
func TestServeProfilesKeepNoConnection(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	s := startServe(t, "redis://"+redis.addr, "--admin-listen", "127.0.0.1:0")
	address := regexp.MustCompile(`profiles at http://(\S+)/debug/pprof/`).FindStringSubmatch(s.stderr.String())[1]
	var all []net.Conn
	for range 100 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(50 * time.Second))
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
func (s *serving) openIdle(n int) {
	s.t.Helper()
	for i := range n {
		c, err := net.DialTimeout("tcp", s.url[strings.Index(s.url, "//")+2:], patience)
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
	file, secrets, _ := newTokens(t, auth.User)
	s := startServe(t, startRedis(t).url(), "--tokens", file, "--max-connections", "200").by(secrets[0])
	events := s.streamed(`{"name": "stream", "ttl": "30s"}`)
	event(t, events, "granted")
	status, lease := s.ask("POST", "/v1/leases", `{"name": "n", "ttl": "20s"}`)
	if status != http.StatusCreated {
		t.Fatalf("acquire: %d %v", status, lease)
	}
	longest := time.Duration(0)
	for range 5 {
		s.openIdle(200)
		http.DefaultClient.CloseIdleConnections() // the renewal needs a new one, as that of curl
		q, err := http.NewRequestWithContext(t.Context(), "PUT", s.url+"/v1/lease", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Close = true
		q.Header.Set("Holdfast-Lease", lease["lease"].(string))
		began := time.Now()
		if status, answer := s.answer(q); status != http.StatusOK {
			t.Fatalf("a renewal behind 200 anonymous connections, after %v: %d %v", time.Since(began), status, answer)
		}
		longest = max(longest, time.Since(began))
	}
	t.Logf("the slowest renewal took %v", longest)
	for len(events) > 0 {
		if line, ok := <-events; !ok || strings.Contains(line, "lost") {
			t.Errorf("the stream: %q", line)
		}
	}
	if status, held := s.ask("GET", "/v1/locks/stream", ""); status != http.StatusOK || held["holder"] == nil {
		t.Errorf("the lease of the stream: %d %v", status, held)
	}
}

// 200 viewers, each of another page, keep no renewal out. It needs the machine for itself.
func TestServeManyViewers(t *testing.T) {
	redis := startRedis(t)
	for first := 0; first < 2000; first += 100 {
		set := []string{"MSET"}
		for i := range 100 {
			set = append(set, fmt.Sprintf("holdfast:n:%d", first+i), "somebody else")
		}
		redis.do(t, set...)
	}
	s := startServe(t, redis.url())
	status, lease := s.ask("POST", "/v1/leases", `{"name": "mine", "ttl": "20s"}`)
	if status != http.StatusCreated {
		t.Fatalf("acquire: %d %v", status, lease)
	}
	viewers := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
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
				if r, err := viewers.Get(fmt.Sprintf("%s/locks?state=all&q=n:%d", s.url, (i+200*n)%1000)); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					_ = r.Body.Close()
					pages.Add(1)
				}
			}
		})
	}
	until(t, "all have a page", func() bool { return pages.Load() >= 200 })
	longest := time.Duration(0)
	for range 20 {
		q, err := http.NewRequestWithContext(t.Context(), "PUT", s.url+"/v1/lease", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Holdfast-Lease", lease["lease"].(string))
		began := time.Now()
		if status, answer := s.answer(q); status != http.StatusOK {
			t.Errorf("a renewal among 200 viewers, after %v: %d %v", time.Since(began), status, answer)
		}
		longest = max(longest, time.Since(began))
	}
	close(over)
	all.Wait()
	t.Logf("%d pages; the slowest renewal took %v", pages.Load(), longest)
}
