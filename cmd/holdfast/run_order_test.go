//go:build unix

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// hashOf is the hash of the tenure that holds job.
func hashOf(t *testing.T, url string) string {
	t.Helper()
	for line := range strings.Lines(wantShown(t, 0, "hash ", "show", "job", "--redis", url)) {
		if hash, ok := strings.CutPrefix(line, "hash "); ok {
			return strings.TrimSpace(hash)
		}
	}
	return ""
}

// Whose tenure is revoked or stolen reads why and by whom: at once with -v, and in the
// line about the loss.
func TestRunSaysRevocation(t *testing.T) {
	for _, order := range []struct{ verb, cause string }{{"revoke", "revoked"}, {"steal", "stolen"}} {
		t.Run(order.verb, func(t *testing.T) {
			t.Parallel()
			url := startRedis(t).url()
			r := startRun(t, url, "trap '' TERM\n"+note("pid", "$$")+idle, "-v", "--grace", "1s", "--ttl", "6s")
			pid := r.pid("pid")
			args := []string{order.verb, "job", "--tenure", hashOf(t, url), "--reason", "it\x1b[2J hangs", "--owner", "ann", "--redis", url}
			if got := runInProcess(t.Context(), io.Discard, io.Discard, args...); got != 0 {
				t.Fatalf("%s: exit code %d, want 0", order.verb, got)
			}
			r.says("lost job: " + order.cause + ": it_[2J hangs (by ann)\n")
			r.wantExit(cli.ExitLost)
			r.wantSaid("holdfast: lost job (" + order.cause + ": it_[2J hangs (by ann)): the command was stopped\n")
			wantDead(t, "the command", pid)
		})
	}
}

// Without a terminal, revoke and steal list what --tenure can name.
func TestOrdersListHolders(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	startRun(t, server.URL(), note("pid", "$$")+idle, "--owner", "first").pid("pid")
	hash := hashOf(t, server.URL())
	for _, verb := range []string{"revoke", "steal"} {
		for _, flags := range [][]string{{"--reason", "x"}, {"--tenure", "first"}} {
			wantShown(t, 64, "holdfast: job is held by:\n  first ", append(flags, verb, "job", "--redis", server.URL())...)
		}
		if got := wantShown(t, 64, "free is free", verb, "free", "--reason", "x", "--redis", server.URL()); strings.Contains(got, hash) {
			t.Errorf("%s lists holders of another name: %s", verb, got)
		}
		wantShown(t, 64, "hash "+hash, verb, "job", "--redis", server.URL())
	}
}
