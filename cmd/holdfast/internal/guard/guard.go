//go:build unix

package guard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/signals"
	"golang.org/x/sys/unix"
)

// A command does not run under `holdfast run` but under a guard, a second
// process of this program:
//
//	holdfast run ── pipe ──> guard (own session) ──> command (own group)
//
// The guard first gets the time that the command may run, then starts it. It kills the
// command, and all that the command has started, when that time is over or the pipe
// ends. So the command does not outlive the lease if `holdfast run` is killed, frozen or
// starved. If the guard is killed, the kernel kills the command, and `holdfast run` kills
// what is left of it.
//
// Orders, one a line, times on the clock both share. Each has all numbers, 0 where it does
// not need one:
//
//	hold TERM KILL 0   ask the command to stop at TERM, kill it at KILL
//	end 0 KILL 0       ask it to stop now
//	signal 0 0 N       send it signal N
//
// Reports:
//
//	started PID
//	failed ERRNO      it could not be started
//	ended STATUS STOPPED
//
// The last one comes when nothing is alive any more: STATUS as wait gives it,
// STOPPED true if the guard made it end.

// pollEvery is how often a guard reads the clock. It does not rely on timers: they stop
// while a machine is suspended.
const pollEvery = 50 * time.Millisecond

// process is the state of a guard. Everything happens on one goroutine: no
// process is waited for between the moment it is found and the moment it is
// sent a signal, so no signal meets a stranger with the number of the dead.
type process struct {
	orders   *inbox
	reports  *os.File
	children chan os.Signal

	leash   Leash
	pid     int // the command and its process group; 0: not started
	status  syscall.WaitStatus
	over    bool // the command has ended
	gone    bool // nothing that it started is alive either
	asked   bool // it was sent TERM
	killing bool
	kills   int
	stopped bool // it was ended by us
}

// Main is the guard. pipes names the file descriptors of orders and
// reports; args are the name that is locked, to be seen in ps, and the command.
func Main(pipes string, args []string) error {
	// The kernel kills the command when the thread that started it ends.
	runtime.LockOSThread()
	var in, out int
	if _, err := fmt.Sscanf(pipes, "%d,%d", &in, &out); err != nil || len(args) < 2 {
		return cli.Usagef("--guard is internal")
	}
	unix.CloseOnExec(in) // the command would hold the pipe open
	unix.CloseOnExec(out)
	ignoreSignals()
	adoptOrphans()
	orders, err := newInbox(in)
	if err != nil {
		return err
	}
	g := &process{
		orders:   orders,
		reports:  os.NewFile(uintptr(out), "reports"),
		children: make(chan os.Signal, 1),
	}
	signal.Notify(g.children, syscall.SIGCHLD)
	var now Instant
	var first []order
	for len(first) == 0 && !g.orders.ended { // a signal may end the wait before anything has come
		<-g.orders.come
		now = Now()
		first = g.orders.take()
	}
	if g.orders.ended || first[0].verb != orderHold {
		return nil
	}
	if !g.mayStart(first, now) {
		g.report("ended 0 true\n")
		return nil
	}
	if errno := g.start(args[1:]); errno != 0 {
		g.report("failed %d\n", int(errno))
		return nil
	}
	g.report("started %d\n", g.pid)
	for _, o := range first {
		g.obey(o)
	}
	g.watch()
	g.report("ended %d %t\n", g.status, g.stopped)
	return nil
}

// mayStart takes the newest time that the command has, and reports whether it is not over yet. On
// a machine that has too much to do the lease is often renewed before the guard comes to its first
// order, which for a pushed grant is about a second.
func (g *process) mayStart(orders []order, now Instant) bool {
	for _, o := range orders {
		if o.verb == orderHold {
			g.leash = o.leash
		}
	}
	return now < g.leash.term
}

// ignoreSignals keeps what is meant for others from ending a guard. The signals
// are caught, not ignored: what is ignored would stay so in the command.
func ignoreSignals() {
	nobody := make(chan os.Signal, 1)
	for _, sig := range append(signals.Passed, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGALRM) {
		if !signal.Ignored(sig) {
			signal.Notify(nobody, sig)
		}
	}
	signals.SurviveBrokenPipe()
}

// start runs the command in a process group of its own.
func (g *process) start(argv []string) syscall.Errno {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return syscall.ENOENT // found before; it was removed since
	}
	g.pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   commandAttributes(),
	})
	var errno syscall.Errno
	if err != nil && !errors.As(err, &errno) {
		return syscall.EINVAL
	}
	return errno
}

// watch returns when nothing of the command is alive.
func (g *process) watch() {
	nap := time.NewTimer(0)
	for {
		g.reap()
		if g.gone {
			return
		}
		select {
		case <-g.orders.come:
		case <-g.children:
		case <-nap.C:
		}
		nap.Reset(g.poll(Now()))
	}
}

// obey executes an order.
func (g *process) obey(o order) {
	switch {
	case o.verb == orderSignal && !g.over:
		_ = syscall.Kill(-g.pid, o.signal)
	case o.verb == orderHold && !g.asked:
		g.leash = o.leash
	case o.verb == orderEnd:
		g.leash = g.leash.Cut(o.leash.Kill)
		g.ask()
	}
}

// poll does what is due now, and returns the time until the next poll. The orders that have come
// until now count, however late this guard gets to them. Their end means that no process keeps the
// lease.
func (g *process) poll(now Instant) time.Duration {
	for _, o := range g.orders.take() {
		g.obey(o)
	}
	if g.orders.ended {
		g.orders.come = nil
		g.killing, g.stopped = true, true
	}
	if now >= g.leash.term {
		g.ask()
	}
	if now >= g.leash.Kill && !g.over {
		g.killing, g.stopped = true, true
	}
	if g.killing || g.over {
		killAll(os.Getpid(), g.pid, g.over)
		g.kills++
		// Again soon, for what was born meanwhile; less often for what can't
		// be killed.
		return min(2*time.Millisecond<<min(g.kills, 10), pollEvery)
	}
	next := g.leash.Kill
	if !g.asked {
		next = g.leash.term
	}
	return min(next.Sub(now), pollEvery)
}

// ask asks the command to stop, once. CONT is for a stopped command: it would not get
// TERM.
func (g *process) ask() {
	if g.asked || g.over {
		return
	}
	g.asked, g.stopped = true, true
	_ = syscall.Kill(-g.pid, syscall.SIGTERM)
	_ = syscall.Kill(-g.pid, syscall.SIGCONT)
}

// reap takes note of the dead.
func (g *process) reap() {
	childless := reapAll(func(pid int, status syscall.WaitStatus) {
		if pid == g.pid {
			g.over, g.status = true, status
		}
	})
	g.gone = childless && goneAll(g.pid)
}

// reapAll waits for the children that are dead, and reports whether there are
// no others.
func reapAll(each func(pid int, status syscall.WaitStatus)) (childless bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err == syscall.ECHILD
		case pid == 0:
			return false
		default:
			each(pid, status)
		}
	}
}

func (g *process) report(format string, args ...any) {
	fmt.Fprintf(g.reports, format, args...) // no reader, no report
}
