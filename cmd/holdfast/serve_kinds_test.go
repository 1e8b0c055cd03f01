//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
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
		if got := s.page("/v1/locks/" + lease.Name); !strings.Contains(got, "one lease was exported: no process renews it") {
			t.Errorf("%s: no word that nothing renews it: %s", lease.Name, got)
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
	until(t, "the journal has the releases", func() bool { return strings.Count(s.page("/v1/history"), `"event":"released"`) == len(shown) })
	if got := s.page("/v1/history"); strings.Contains(got, `"kind":"mutex"`) {
		t.Errorf("the journal calls a permit or a reader a mutex: %s", got)
	}
}

// The commands with curl that docs/http.md shows for jobs and history, on a real Redis: they print what
// 'holdfast jobs' and 'holdfast history' print.
func TestServePastAsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	redis := startRedis(t)
	s := startServe(t, redis.url())
	if err := exec.CommandContext(t.Context(), "holdfast", "run", "--redis", redis.url(), "nightly", "--", "false").Run(); err == nil {
		t.Fatal("run: exit code 0, want that of the command")
	}
	shown := regexp.MustCompile(`(?m)^\$ (curl -fsS 'http://127\.0\.0\.1:7420/v1/(jobs|history)\?.*')$`).FindAllStringSubmatch(string(page), -1)
	if len(shown) != 2 {
		t.Fatalf("docs/http.md shows %d commands, want 2", len(shown))
	}
	for _, command := range shown {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command[1], "http://127.0.0.1:7420", s.url)).Output()
		var answer struct {
			Jobs, Entries []map[string]any
			Unreadable    int
		}
		if err != nil || json.Unmarshal(out, &answer) != nil || answer.Unreadable != 0 {
			t.Fatalf("%s: %v, %s", command[1], err, out)
		}
		args := map[string][]string{"jobs": {"jobs", "--problems"}, "history": {"history", "nightly"}}[command[2]]
		printed, _ := exec.CommandContext(t.Context(), "holdfast", append(args, "--redis", redis.url(), "-o", "json")...).Output() // 1: there are problems
		var want []map[string]any
		if err := json.Unmarshal(printed, &want); err != nil || len(want) == 0 {
			t.Fatalf("holdfast %s: %v, %s", command[2], err, printed)
		}
		got := slices.Concat(answer.Jobs, answer.Entries)
		for _, v := range slices.Concat(got, want) {
			delete(v, "now") // it differs between two requests
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, and holdfast %s prints %v", command[1], got, command[2], want)
		}
	}
}
