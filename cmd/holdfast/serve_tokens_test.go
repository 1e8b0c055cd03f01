//go:build unix

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/server/auth"
)

// newTokens writes a file with a token for each role, and returns their lines, too.
func newTokens(t *testing.T, roles ...auth.Role) (file string, secrets, lines []string) {
	t.Helper()
	for i, role := range roles {
		secret, line, err := auth.NewToken(role, fmt.Sprintf("team %d", i))
		if err != nil {
			t.Fatal(err)
		}
		secrets, lines = append(secrets, secret), append(lines, line)
	}
	file = filepath.Join(t.TempDir(), "tokens")
	writeTokens(t, file, lines...)
	return file, secrets, lines
}

func writeTokens(t *testing.T, file string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(strings.Join(append(lines, ""), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// logs waits until a server has logged a text.
func logs(s *serving, want string) {
	s.t.Helper()
	until(s.t, "it logs "+want, func() bool { return strings.Contains(s.stderr.String(), want) })
}

// An attacker has a token that the operator withdraws, and the file is not as it should be then: it
// has a bad line, is empty, or is gone.
func TestServeTokenIsWithdrawn(t *testing.T) {
	t.Parallel()
	file, secrets, lines := newTokens(t, auth.Admin, auth.Viewer)
	s := startServe(t, startServer(t).URL(), "--tokens", file)
	attacker, viewer := s.by(secrets[0]), s.by(secrets[1])
	admitted := func(s *serving) bool { status, _ := s.ask("GET", "/v1/locks", ""); return status == http.StatusOK }
	ready := func() int { status, _ := s.ask("GET", "/readyz", ""); return status }
	if !admitted(attacker) || !admitted(viewer) || ready() != http.StatusOK {
		t.Fatal("a token of the file is refused")
	}
	writeTokens(t, file, "user nonsense", lines[1])
	until(t, "a bad line keeps no token that was withdrawn", func() bool { return !admitted(attacker) })
	if !admitted(viewer) || ready() != http.StatusOK {
		t.Error("a bad line has ended the token of another line")
	}
	if _, verbose := viewer.ask("GET", "/readyz?verbose", ""); !strings.Contains(fmt.Sprint(verbose["tokens"]), "line 1: ") {
		t.Errorf("/readyz?verbose does not name the bad line: %v", verbose)
	}
	if page := viewer.page("/metrics"); !strings.Contains(page, "\nholdfast_tokens_up 0\n") {
		t.Error("/metrics does not say that a line is bad")
	}
	logs(s, "the other lines count")
	mend := func() {
		t.Helper()
		writeTokens(t, file, lines...)
		until(t, "a file without a mistake counts", func() bool { return admitted(attacker) && admitted(viewer) && ready() == http.StatusOK })
		if page := viewer.page("/metrics"); !strings.Contains(page, "\nholdfast_tokens_up 1\n") {
			t.Error("/metrics says that something is wrong")
		}
	}
	mend()
	for what, spoil := range map[string]func(){
		"empty":     func() { writeTokens(t, file) },
		"deleted":   func() { _ = os.Remove(file) },
		"bad alone": func() { writeTokens(t, file, "admin nonsense") },
	} {
		spoil()
		until(t, what+": nobody gets in", func() bool { return !admitted(attacker) && !admitted(viewer) })
		if got := ready(); got != http.StatusServiceUnavailable {
			t.Errorf("%s: /readyz: %d", what, got)
		}
		logs(s, "all tokens are refused")
		mend()
	}
}
