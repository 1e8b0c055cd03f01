//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// start starts the program with the server in its environment, for commands in its command.
func start(t *testing.T, serverURL string, variables []string, args ...string) *runner {
	t.Helper()
	r := &runner{t: t, dir: t.TempDir(), Cmd: command(args...)}
	r.Dir, r.Stderr, r.Stdout = r.dir, &r.stderr, &r.stderr
	r.Env = append(append(os.Environ(), "HOLDFAST_REDIS_URL="+serverURL), variables...)
	t.Cleanup(r.end)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Two commands lock two names in opposite orders, each the second inside the first. Both
// say so, and so do ls and show. The advice breaks the circle.
func TestRunNestedDeadlock(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	both := filepath.Join(t.TempDir(), "both")
	nest := func(outer, inner string) *runner {
		r := start(t, server.URL(), nil, "run", outer, "--", "sh", "-c", note("pid", "$$")+"while [ ! -e "+both+" ]; do sleep 0.02; done; holdfast run "+inner+" -- true")
		r.pid("pid")
		return r
	}
	first, second := nest("a", "b"), nest("b", "a")
	if err := os.WriteFile(both, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*runner{first, second} {
		r.says("deadlock: ")
		for _, want := range []string{" holds a, and ", " in its command waits for b; ", " holds b, and ", " in its command waits for a: ", "holdfast revoke --tenure "} {
			r.wantSaid(want)
		}
		if strings.Count(r.stderr.String(), "deadlock: ") != 1 {
			t.Errorf("said %q, want one deadlock", &r.stderr)
		}
	}
	shown := wantShown(t, 0, "possible-deadlock", "ls", "--redis", server.URL())
	if got := strings.Count(shown, "possible-deadlock"); got != 2 {
		t.Errorf("ls has %d problems, want 2:\n%s", got, shown)
	}
	serve := startServe(t, server.URL())
	for path, want := range map[string]string{
		"/v1/locks/a": "in its command waits for a", "/lock?name=a": "in its command waits for a", "/problems": "in its command waits for a",
		"/metrics": `holdfast_inventory_diagnosed{code="possible-deadlock",problem="true"} 2`, // of the alert HoldfastNameStuck
	} {
		until(t, path+" has the deadlock", func() bool { return strings.Contains(serve.page(path), want) })
	}
	shown = wantShown(t, 0, "why           possible-deadlock: ", "show", "b", "--redis", server.URL())
	_, rest, _ := strings.Cut(shown, "holdfast revoke --tenure ")
	wantShown(t, 0, "", "revoke", "--tenure", rest[:10], "--reason", "deadlock", "a", "--redis", server.URL())
	first.wantExit(cli.ExitLost)
	second.wantExit(0)
}

// A nested command that waits for the name of an outer command, over two levels, reports it at once,
// with or without details.
func TestRunNestedInItself(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for name, variables := range map[string][]string{"a": nil, "b": {"HOLDFAST_DETAILS=none"}} {
		r := start(t, server.URL(), variables, "run", name, "--", "holdfast", "run", "within "+name, "--", "holdfast", "run", name, "--", "true")
		r.wantDeadlock(name)
	}
}

// wantDeadlock wants that a command inside r reports that it waits for a name that r holds, and
// then ends r.
func (r *runner) wantDeadlock(name string) {
	r.t.Helper()
	r.says("deadlock: ")
	r.wantSaid(" holds " + name + ", and ")
	r.wantSaid(" in its command waits for " + name + ": ")
	r.send(syscall.SIGTERM)
	r.wantExit(128 + int(syscall.SIGTERM))
}

// A lease of acquire, in a script, counts as the outer command of the commands that follow.
func TestRunNestedInLease(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	r := start(t, server.URL(), nil, "run", "a", "--", "sh", "-c", `eval "$(holdfast acquire -o env b)"; holdfast run a -- true`)
	r.wantDeadlock("a")
}

// A forged variable is shown at most. No lock depends on it.
func TestRunNestedForged(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	claims := []string{"not a hash", "0123456789", strings.Repeat("x", 4096), ""} // the last one is the holder's own
	var holders, waiters []*runner
	for i, claim := range claims { // each on a name of its own, since a waiter tells of any circle around its name
		name := fmt.Sprint("job", i)
		holder := start(t, server.URL(), nil, "run", name, "--", "sh", "-c", note("client", "$HOLDFAST_CLIENT")+note("pid", "$$")+"while [ ! -e stop ]; do sleep 0.02; done")
		holder.pid("pid")
		if claim == "" {
			text, err := os.ReadFile(filepath.Join(holder.dir, "client"))
			if err != nil {
				t.Fatal(err)
			}
			claim = strings.TrimSpace(string(text))
		}
		r := start(t, server.URL(), []string{"HOLDFAST_CLIENT=" + claim, "HOLDFAST_NAME=" + name}, "run", name, "--", "true")
		r.says("waiting: ")
		holders, waiters = append(holders, holder), append(waiters, r)
	}
	waiters[3].says("deadlock: ") // as it claims
	for i, r := range waiters {
		holders[i].write("stop")
		holders[i].wantExit(0)
		r.wantExit(0)
		if got := strings.Contains(r.stderr.String(), "deadlock"); got != (i == 3) {
			t.Errorf("waiter %d said %q: a deadlock is %t, want %t", i, &r.stderr, got, i == 3)
		}
	}
}
