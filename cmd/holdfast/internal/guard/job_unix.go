//go:build unix

package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"golang.org/x/sys/unix"
)

// Job is a command under a guard, seen from `holdfast run`. Its methods do not
// wait, and do nothing once the job is over.
type Job struct {
	Done   chan Ending // gets one value, when nothing of the job is alive
	guard  *exec.Cmd
	orders *os.File
	adopts bool         // orphans of the job become our children
	pid    atomic.Int64 // the command's, 0: not started
}

// Start starts a guard. The command itself starts at the first hold.
func Start(a *cli.App, name string, argv, env []string) (*Job, error) {
	self, err := selfPath()
	if err != nil {
		return nil, err
	}
	orders, ordersEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer orders.Close()
	reportsEnd, reports, err := os.Pipe()
	if err != nil {
		ordersEnd.Close()
		return nil, err
	}
	defer reports.Close()

	j := &Job{Done: make(chan Ending, 1), orders: ordersEnd}
	// A shell that called exec may have left us children of its own. They are not
	// to be killed with the job, so then only the guard adopts: should it be
	// killed, what left the command's group is out of reach.
	j.adopts = reapAll(func(int, syscall.WaitStatus) {}) && adoptOrphans()
	pipes, err := inherit(orders, reports)
	if err == nil {
		j.guard = &exec.Cmd{
			Path:        self,
			Args:        append([]string{os.Args[0], "run", "--guard=" + pipes, "--", name}, argv...),
			Env:         env,
			Stdin:       a.Stdin,
			Stdout:      a.Stdout,
			Stderr:      a.Stderr,
			SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		}
		err = j.guard.Start()
	}
	if err != nil {
		ordersEnd.Close()
		reportsEnd.Close()
		return nil, err
	}
	go j.follow(reportsEnd, argv[0])
	return j, nil
}

// inherit lets the next process have the two files, and says under which
// numbers. The numbers 3 and 4, which exec would use, may be files that the
// command is meant to get.
func inherit(in, out *os.File) (string, error) {
	fds := [2]uintptr{in.Fd(), out.Fd()}
	for _, fd := range fds {
		if _, err := unix.FcntlInt(fd, unix.F_SETFD, 0); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d,%d", fds[0], fds[1]), nil
}

// follow reads what the guard reports until all is over.
func (j *Job) follow(reports *os.File, command string) {
	end := Ending{Err: cli.Exit(cli.ExitSoftware, errors.New("the guard process was killed, so the command was stopped"))}
	lines := bufio.NewScanner(reports)
	for lines.Scan() {
		var verb string
		var value int64
		var stopped bool
		_, _ = fmt.Sscan(lines.Text(), &verb, &value, &stopped) // what is not there stays zero
		switch verb {
		case "started":
			j.pid.Store(value)
		case "failed":
			end = Ending{Err: startError(command, syscall.Errno(value))}
		case "ended":
			end = Ending{Code: codeOf(syscall.WaitStatus(value)), Stopped: stopped}
		}
	}
	reports.Close()
	_ = j.guard.Wait() // what counts was reported
	if end.Err != nil {
		j.clear()
	}
	j.orders.Close()
	j.Done <- end
}

// clear returns when nothing is alive of a job whose guard is gone.
func (j *Job) clear() {
	// The dead of a job that is not ours to wait for may stay in the process table for
	// ever, so the number of tries is limited.
	for try := 0; !j.cleared() && (j.adopts || try < 20); try++ {
		time.Sleep(min(time.Millisecond<<min(try, 10), 200*time.Millisecond))
	}
}

// cleared kills what is alive of a job, and reports whether nothing was.
func (j *Job) cleared() bool {
	j.killTree()
	if j.adopts {
		return reapAll(func(int, syscall.WaitStatus) {})
	}
	return syscall.Kill(-int(j.pid.Load()), 0) != nil
}

// Kill kills everything at once, guard and all.
func (j *Job) Kill() {
	_ = j.guard.Process.Kill()
	j.killTree()
}

func (j *Job) killTree() {
	root := j.guard.Process.Pid
	if j.adopts {
		root = os.Getpid()
	}
	killAll(root, int(j.pid.Load()), false)
}

// Hold puts the command on a new leash; the first one starts it.
func (j *Job) Hold(l Leash) { j.order(order{verb: orderHold, leash: l}) }

// End asks the command to stop, and kills it at kill.
func (j *Job) End(kill Instant) { j.order(order{verb: orderEnd, leash: Leash{Kill: kill}}) }

// Signal passes a signal on to the command.
func (j *Job) Signal(sig os.Signal) {
	if sig, ok := sig.(syscall.Signal); ok {
		j.order(order{verb: orderSignal, signal: sig})
	}
}

// order gives up when the pipe is full, which takes a guard that has not read a
// thousand orders: such a guard ends the command for lack of orders.
func (j *Job) order(o order) {
	_ = j.orders.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	_, _ = fmt.Fprint(j.orders, o)
}

// codeOf is the exit code a shell would give.
func codeOf(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// startError is for a command that the system would not start.
func startError(command string, errno syscall.Errno) error {
	if errors.Is(errno, fs.ErrNotExist) {
		return cli.Exit(cli.ExitNotFound, fmt.Errorf("%s: not found", command))
	}
	return cli.Exit(cli.ExitNotExecutable, fmt.Errorf("cannot run %s: %w", command, errno))
}
