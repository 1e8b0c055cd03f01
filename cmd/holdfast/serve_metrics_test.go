package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// serve gives its metrics and the inventory of Redis at /metrics, with what others hold.
func TestServeMetrics(t *testing.T) {
	t.Parallel()
	page := scraped(t, startServer(t).URL())
	for _, want := range []string{"\nholdfast_held{class=\"all\"} 0\n", "\nholdfast_inventory_up 1\n", "\nholdfast_inventory_held{kind=\"mutex\"} 0\n", "\ngo_goroutines ", "\nholdfast_store_calls_total{script=\"inspect\",store=\"\"} 1\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("/metrics lacks %q:\n%s", want, page)
		}
	}
}

// scraped is /metrics of a serve that begins and ends here.
func scraped(t *testing.T, url string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout, writeEnd := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- runInProcess(ctx, writeEnd, &stderr, append([]string{"serve", "--listen", "127.0.0.1:0", "--redis", url}, flags...)...)
		writeEnd.Close()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("serve printed no URL: %v", err)
	}
	ask := func(path string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(line)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	ask("/v1/locks/n").Body.Close() // a call of the store
	page := ""
	for range 60 { // a scrape waits for Redis and the journal for a second each
		response := ask("/metrics")
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if page = string(body); strings.Contains(page, "\nholdfast_inventory_up 1\n") && strings.Contains(page, "\nholdfast_jobs_up 1\n") {
			break
		}
	}
	cancel()
	if got, want := <-ended, 0; got != want {
		t.Errorf("serve: exit code %d, want %d: %s", got, want, &stderr)
	}
	return page
}
