package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The commands with curl that docs/http.md shows for other kinds of locks, on a real Redis: they
// print a lease, which renews and releases, and 'holdfast show' shows what is held.
func TestServeKindsAsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	redis := startRedis(t)
	s := startServe(t, redis.url())
	shown := regexp.MustCompile(`(?m)^\$ (curl -fsS http://127\.0\.0\.1:7420/v1/leases .*)$`).FindAllStringSubmatch(string(page), -1)
	if len(shown) < 2 {
		t.Fatalf("docs/http.md shows %d commands, want 2", len(shown))
	}
	for _, command := range shown {
		text := regexp.MustCompile(`http://127\.0\.0\.1:7420`).ReplaceAllString(command[1], s.url)
		out, err := exec.CommandContext(t.Context(), "sh", "-c", text).Output()
		var lease struct{ Lease, Name, Hash string }
		if err != nil || json.Unmarshal(out, &lease) != nil || lease.Lease == "" {
			t.Fatalf("%s: %v, %s", command[1], err, out)
		}
		if status, got := s.ask("GET", "/v1/locks/"+lease.Name, ""); status != http.StatusOK || got["kind"] == "mutex" || got["holding"] != 1.0 {
			t.Errorf("%s: %d %v", lease.Name, status, got)
		}
		for _, method := range []string{"PUT", "GET", "DELETE"} {
			q, err := http.NewRequestWithContext(t.Context(), method, s.url+"/v1/lease", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Holdfast-Lease", lease.Lease)
			r, err := http.DefaultClient.Do(q)
			if err != nil || r.StatusCode >= 300 {
				t.Fatalf("%s %s: %+v, %v", method, lease.Name, r, err)
			}
			_ = r.Body.Close()
		}
		if _, got := s.ask("GET", "/v1/locks/"+lease.Name, ""); got["state"] != "free" {
			t.Errorf("%s is not free after its release: %v", lease.Name, got)
		}
	}
}
