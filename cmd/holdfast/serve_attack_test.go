//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
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

// However many ask whether it is ready, Redis gets one probe a second, also while it hangs: then
// they are told so, and do not pile up.
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

// A web page reads no profile: not by a name that it gave our address, not from another site. And
// whoever reads one sees no password of the command line.
func TestServeProfilesAreLocal(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	redis.do(t, "CONFIG", "SET", "requirepass", "s3cr3t")
	s := startServe(t, "redis://:s3cr3t@"+redis.addr, "--admin-listen", "127.0.0.1:0")
	profiles := regexp.MustCompile(`profiles at (http\S+)/debug/pprof/`).FindStringSubmatch(s.stderr.String())
	if profiles == nil {
		t.Fatalf("no profiles: %s", &s.stderr)
	}
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
