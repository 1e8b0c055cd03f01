//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// lines are what a runner said so far, by itself and not by its command.
func (r *runner) lines() []string {
	var ours []string
	for line := range strings.Lines(r.stderr.String()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "holdfast: "); ok {
			ours = append(ours, text)
		}
	}
	return ours
}

// wantLines fails unless the runner said exactly these, in this order; each is
// only the beginning of a line.
func (r *runner) wantLines(want ...string) {
	r.t.Helper()
	got := r.lines()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = strings.HasPrefix(got[i], want[i])
	}
	if !same {
		r.t.Errorf("said\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (r *runner) says(want string) {
	r.t.Helper()
	until(r.t, "it says "+want, func() bool { return strings.Contains(r.stderr.String(), "holdfast: "+want) })
}

// With -v a holder is told of a recall, and a waiter of its place and its grant.
func TestRunPrintsEvents(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	first := startRun(t, server.URL(), note("pid", "$$")+idle, "-v", "--owner", "first", "--ttl", "4s")
	first.pid("pid")
	second := startRun(t, server.URL(), "true", "-v", "--owner", "second")
	first.says("recalled: another process waits for job")
	first.send(syscall.SIGTERM)
	first.wantExit(128 + int(syscall.SIGTERM))
	second.wantExit(0)
	for _, want := range []string{"subscribed: ", "queued: job is held by first; 1st in the queue\n", "granted: job with token "} {
		second.wantSaid("holdfast: " + want)
	}
}

// A lease that is lost is told at once with -v, while the command still has its
// grace.
func TestRunSaysLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startServer(t)
	r := startRun(t, server.URL(), "trap '' TERM\n"+note("pid", "$$")+idle, "-v", "--ttl", "3s", "--grace", "1s")
	r.pid("pid")
	deleteKey(t, server)
	r.says("lost job: gone")
	r.wantExit(cli.ExitLost)
	r.wantSaid("holdfast: lost job (gone: the key was deleted or lost): the command was stopped")
}

// An outage is told once, and what it cost.
func TestRunSaysOutage(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRun(t, server.url(), "trap 'exit 5' TERM\n"+note("pid", "$$")+idle, "--ttl", "30s")
	r.pid("pid")
	server.stop(t)
	// The first renewal is at a third of the ttl.
	r.says("Redis does not answer (")
	server.start(t) // empty: what was held is gone, and that is found out
	r.wantExit(cli.ExitLost)
	r.wantSaid("holdfast: lost job (gone: the key was deleted or lost): the command was stopped") // and that Redis answers, if that was heard first
}

// A frozen Redis is told of before the command is stopped, although nothing has
// failed by then: an answer is late.
func TestRunSaysSilence(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRun(t, server.url(), note("pid", "$$")+idle, "--ttl", "6s", "--grace", "1s")
	r.pid("pid")
	server.freeze(t)
	r.wantExit(cli.ExitLost)
	r.wantLines("Redis does not answer (no answer in time); still trying, for ", "lost job (no renewal was answered in time)")
}

// A Redis that thaws in time costs nothing, and that it is back is told.
func TestRunSaysServerIsFrozen(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRun(t, server.url(), note("pid", "$$")+idle, "--ttl", "20s", "--grace", "1s")
	r.pid("pid")
	server.freeze(t)
	r.says("Redis does not answer (")
	server.thaw(t)
	r.says("Redis answers again, after ")
	r.send(syscall.SIGTERM)
	r.wantExit(128 + int(syscall.SIGTERM))
	r.wantLines("Redis does not answer (", "Redis answers again, after ")
}

// When Redis is gone at the end, that is one line, and the exit code is the
// command's own.
func TestRunServerGoneAtTheEnd(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRun(t, server.url(), note("pid", "$$")+"while [ ! -e stop ]; do sleep 0.02; done; exit 5", "--ttl", "60s")
	r.pid("pid")
	server.stop(t)
	r.write("stop")
	r.wantExit(5)
	r.wantLines("the command has ended, but job may stay locked until its ttl ends: Redis did not answer (")
	if got := r.stderr.String(); strings.Count(got, "holdfast:") != 1 {
		t.Errorf("said %q, want one line", got)
	}
}

// A server that answers nothing within the wait is unreachable, and never "held":
// nobody knows. Whether it stops to answer before the wait or within it.
func TestRunServerPaused(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, "SET", "holdfast:job", "somebody", "PX", "600000")
	waiting := startRun(t, server.url(), "touch ran", "-w", "4s")
	waiting.says("waiting: 1st in the queue; job is held by (not holdfast)")
	server.do(t, "CLIENT", "PAUSE", "600000", "ALL")
	late := startRun(t, server.url(), "touch ran", "-w", "1s")
	try := startRun(t, server.url(), "touch ran", "-n", "-E", "3")
	waiting.wantExit(cli.ExitUnreachable)
	waiting.wantSaid("holdfast: no answer from " + server.url() + ": ")
	waiting.wantSaid("; gave up after ")
	for _, r := range []*runner{late, try} {
		r.wantExit(cli.ExitUnreachable)
		r.wantSaid("holdfast: no answer from " + server.url() + ": ")
		if strings.Contains(r.stderr.String(), "held") {
			t.Errorf("said %q, want nothing about a holder", &r.stderr)
		}
	}
	for _, r := range []*runner{waiting, late, try} {
		if r.exists("ran") {
			t.Error("the command ran")
		}
	}
}

// Redis gone while standing in line: told once, then exit 69.
func TestRunServerGoneWhileWaiting(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do(t, "SET", "holdfast:job", "somebody", "PX", "600000")
	r := startRun(t, server.url(), "touch ran", "--ttl", "4s")
	r.says("waiting: 1st in the queue; job is held by (not holdfast)")
	server.stop(t)
	r.wantExit(cli.ExitUnreachable)
	r.wantLines("waiting: ", "Redis does not answer (", "no answer from "+server.url()+": ")
}
