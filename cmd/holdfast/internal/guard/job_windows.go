package guard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// Job is a command without a guard: this process kills it when its leash ends. If this
// process is killed first, the command runs on.
type Job struct {
	Done chan Ending

	mu      sync.Mutex
	cmd     *exec.Cmd
	killer  *time.Timer // nil: not started
	stopped bool
}

// Start prepares a command. It starts at the first hold.
func Start(a *cli.App, _ string, argv, env []string) (*Job, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stdout, a.Stderr
	return &Job{Done: make(chan Ending, 1), cmd: cmd}, nil
}

// Hold puts the command on a new leash; the first one starts it.
func (j *Job) Hold(l Leash) {
	j.mu.Lock()
	defer j.mu.Unlock()
	left := l.Kill.Sub(Now())
	if j.killer != nil {
		if !j.stopped {
			j.killer.Reset(left)
		}
		return
	}
	j.killer = time.AfterFunc(left, j.Kill)
	if err := j.cmd.Start(); err != nil {
		j.Done <- Ending{Err: cli.Exit(cli.ExitNotExecutable, fmt.Errorf("cannot run %s: %w", j.cmd.Path, err))}
		return
	}
	go j.wait()
}

func (j *Job) wait() {
	err := j.cmd.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.killer.Stop()
	end := Ending{Code: j.cmd.ProcessState.ExitCode(), Stopped: j.stopped}
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		end.Err = cli.Exit(cli.ExitSoftware, err)
	}
	j.Done <- end
}

// End kills at once: there is no gentle way to ask.
func (j *Job) End(Instant) { j.Kill() }

// Kill kills the command, or keeps it from starting.
func (j *Job) Kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.cmd.Process != nil:
		j.stopped = true
		_ = j.cmd.Process.Kill()
	case j.killer == nil:
		j.killer = time.NewTimer(0) // it must not start any more
		j.Done <- Ending{Stopped: true}
	}
}

// Signal does nothing: there are no signals here.
func (j *Job) Signal(os.Signal) {}

// Main: no guards here.
func Main(string, []string) error { return cli.Usagef("--guard is internal") }

var origin = time.Now()

// Now reads the clock of this process.
func Now() Instant { return Instant(time.Since(origin)) }
