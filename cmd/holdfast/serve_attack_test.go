//go:build unix

package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
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
