//go:build unix

package main

import (
	"encoding/json"
	"io"
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

// curl sends the request of a command with curl, and returns its answer. What real curl makes
// of the same commands is tested in test/httpclients.
func (s *serving) curl(command string) []byte {
	s.t.Helper()
	method, to, body, header := http.MethodGet, "", "", http.Header{}
	words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(command, -1)
	for i, word := range words {
		words[i] = strings.Trim(word, "'")
	}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-fsS":
		case word == "-H" && i+1 < len(words):
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		case word == "-d" && i+1 < len(words):
			i++
			method, body = http.MethodPost, words[i]
		case strings.HasPrefix(word, "http://127.0.0.1:7420/"):
			to = s.url + strings.TrimPrefix(word, "http://127.0.0.1:7420")
		default:
			s.t.Fatalf("%s: this test does not know %s", command, word)
		}
	}
	q, err := http.NewRequestWithContext(s.t.Context(), method, to, strings.NewReader(body))
	if err != nil {
		s.t.Fatalf("%s: %v", command, err)
	}
	q.Header = header
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		s.t.Fatalf("%s: %v", command, err)
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode >= 400 {
		s.t.Fatalf("%s: %s, %v, %s", command, r.Status, err, answer)
	}
	return answer
}

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
		t.Fatalf("docs/http.md shows %d commands, want at least 2", len(shown))
	}
	for _, command := range shown {
		out := s.curl(command[1])
		var lease struct{ Lease, Name, Hash string }
		if json.Unmarshal(out, &lease) != nil || lease.Lease == "" {
			t.Fatalf("%s: %s", command[1], out)
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
	for _, of := range []string{"jobs", "history"} {
		if !slices.ContainsFunc(shown, func(command []string) bool { return command[2] == of }) {
			t.Errorf("docs/http.md shows no command for %s", of)
		}
	}
	for _, command := range shown {
		out := s.curl(command[1])
		var answer struct {
			Jobs, Entries []map[string]any
			Unreadable    int
		}
		if json.Unmarshal(out, &answer) != nil || answer.Unreadable != 0 {
			t.Fatalf("%s: %s", command[1], out)
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
