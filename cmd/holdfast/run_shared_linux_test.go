package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// going is a command that goes on until its directory has a file stop.
var going = note("pid", "$$") + "while [ ! -e stop ]; do sleep 0.02; done"

// stays fails the test if what must wait has run. The looks before it say that it
// waits, so it had its chance.
func (r *runner) stays() {
	r.t.Helper()
	if r.exists("pid") || r.exists("ran") {
		r.t.Error("the command ran, want it to wait")
	}
}

// Readers run side by side; a writer waits for all of them, and a reader that comes
// after it waits for the writer.
func TestRunShared(t *testing.T) {
	t.Parallel()
	url := startRedis(t).url()
	a := startRun(t, url, going, "-s", "--owner", "a")
	a.pid("pid")
	b := startRun(t, url, going, "--shared", "--owner", "b")
	b.pid("pid")
	writer := startRun(t, url, going, "-x", "--owner", "w")
	writer.says("waiting: 1st in the queue; job is held by ")
	writer.wantSaid(" and 1 more (2 readers), renews on time\n")
	late := startRun(t, url, "touch ran", "-s")
	late.says("waiting: 2nd in the queue; job is held by ")
	late.wantSaid(" (2 readers), renews on time\n")
	startRun(t, url, "touch ran", "-s", "-n").wantExit(cli.ExitTempFail)
	a.write("stop")
	a.wantExit(0)
	startRun(t, url, "touch ran", "-x", "-n").wantExit(cli.ExitTempFail)
	writer.stays()
	late.stays()
	b.write("stop")
	b.wantExit(0)
	writer.pid("pid")
	busy := startRun(t, url, "touch ran", "-s", "-w", "300ms")
	busy.wantExit(cli.ExitTempFail)
	busy.wantSaid("holdfast: job is held by w (a writer), renews on time; ")
	late.stays()
	writer.write("stop")
	writer.wantExit(0)
	late.wantExit(0)
}

// Of two permits the third waits, whoever wants both waits for both, and nobody
// overtakes it.
func TestRunPermits(t *testing.T) {
	t.Parallel()
	url := startRedis(t).url()
	a := startRun(t, url, going, "--of", "2", "--owner", "a")
	a.pid("pid")
	b := startRun(t, url, going, "--of", "2", "--owner", "b")
	b.pid("pid")
	third := startRun(t, url, going, "--of", "2", "--permits", "2")
	third.says("waiting: 1st in the queue; job is held by ")
	third.wantSaid(" and 1 more (2 of 2 permits), renews on time\n")
	a.write("stop")
	a.wantExit(0)
	fourth := startRun(t, url, "touch ran", "--of", "2")
	fourth.says("waiting: 2nd in the queue; job is held by b (1 of 2 permits), renews on time")
	third.stays()
	b.write("stop")
	b.wantExit(0)
	third.pid("pid")
	fourth.stays()
	third.write("stop")
	third.wantExit(0)
	fourth.wantExit(0)
}

// kinds are flags of one who holds, and of another who can't beside it.
var kinds = []struct{ name, holds, waits string }{
	{"reader", "--shared", "--exclusive"},
	{"writer", "--exclusive", "--shared"},
	{"permits", "--of=1", "--of=1"},
}

// A wrapper that is killed takes its command with it before the ttl is over, and
// then the next one runs, whatever the kind.
func TestRunSharedKilled(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			url := startRedis(t).url()
			r := startRun(t, url, stubborn, "--ttl", "4s", kind.holds)
			pid, escaped := r.pid("pid"), r.pid("escaped")
			next := startRun(t, url, overlap(pid, escaped), kind.waits)
			r.send(syscall.SIGKILL)
			r.wantExit(-1)
			next.wantExit(0)
		})
	}
}

// So does one that is frozen; when it wakes up it says that it has lost.
func TestRunSharedFrozen(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			url := startRedis(t).url()
			r := startRun(t, url, stubborn, "--ttl", "4s", kind.holds)
			pid, escaped := r.pid("pid"), r.pid("escaped")
			next := startRun(t, url, overlap(pid, escaped), kind.waits)
			r.send(syscall.SIGSTOP)
			next.wantExit(0)
			r.send(syscall.SIGCONT)
			r.wantExit(cli.ExitLost)
		})
	}
}

// One that is frozen while it waits keeps the others for a claim window, not longer.
func TestRunSharedFrozenWhileWaiting(t *testing.T) {
	t.Parallel()
	url := startRedis(t).url()
	a := startRun(t, url, going, "-s")
	a.pid("pid")
	writer := startRun(t, url, "true", "-x")
	writer.says("waiting: ")
	writer.send(syscall.SIGSTOP)
	startRun(t, url, "touch ran", "-s", "-w", "20s").wantExit(0)
	a.write("stop")
	a.wantExit(0)
	writer.send(syscall.SIGCONT)
	writer.wantExit(0)
}

// A server that has forgotten who holds is noticed by the next renewal, and one that
// hangs before the lease is over.
func TestRunSharedLost(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			r := startRun(t, server.url(), note("pid", "$$")+idle, "--ttl", "4s", kind.holds)
			pid := r.pid("pid")
			server.do(t, "DEL", "holdfast:job", "holdfast/holders:{holdfast:job}")
			r.wantExit(cli.ExitLost)
			r.wantSaid("holdfast: lost job (gone: the key was deleted or lost): the command was stopped")
			wantDead(t, "the command", pid)

			r = startRun(t, server.url(), note("pid", "$$")+idle, "--ttl", "3s", kind.holds)
			pid = r.pid("pid")
			server.freeze(t)
			r.wantExit(cli.ExitLost)
			r.wantLines("Redis does not answer (no answer in time); still trying, for ", "lost job (no renewal was answered in time)")
			wantDead(t, "the command", pid)
			server.thaw(t)
		})
	}
}

// A signal ends the wait, and the queue is empty.
func TestRunSharedSignal(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	a := startRun(t, server.url(), going, "-x")
	a.pid("pid")
	r := startRun(t, server.url(), "touch ran", "-s")
	r.says("waiting: ")
	r.send(syscall.SIGTERM)
	r.wantExit(128 + int(syscall.SIGTERM))
	r.stays()
	until(t, "nobody waits", func() bool { return server.do(t, "ZCARD", "holdfast/queue:{holdfast:job}") == ":0\r\n" })
}

// With -v the place in the line is told as for a mutex; a holder of a shared kind is
// never recalled.
func TestRunSharedPrintsEvents(t *testing.T) {
	t.Parallel()
	url := startRedis(t).url()
	a := startRun(t, url, going, "-s", "-v", "--owner", "a")
	a.pid("pid")
	r := startRun(t, url, "true", "-x", "-v")
	r.says("queued: job is held by a; 1st in the queue\n")
	a.write("stop")
	a.wantExit(0)
	r.wantExit(0)
	r.wantSaid("holdfast: granted: job with token ")
	r.wantSaid("holdfast: released job after ")
	if strings.Contains(a.stderr.String(), "recalled") {
		t.Errorf("said %q, want nothing about a recall", &a.stderr)
	}
}
