package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// job is a command without a guard: this process kills it when its leash ends. If this
// process is killed first, the command runs on.
type job struct {
	done chan ending

	mu      sync.Mutex
	cmd     *exec.Cmd
	killer  *time.Timer // nil: not started
	stopped bool
}

// startJob prepares a command. It starts at the first hold.
func startJob(a *app, _ string, argv, env []string) (*job, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout, a.stderr
	return &job{done: make(chan ending, 1), cmd: cmd}, nil
}

func (j *job) hold(l leash) {
	j.mu.Lock()
	defer j.mu.Unlock()
	left := l.kill.sub(clock())
	if j.killer != nil {
		if !j.stopped {
			j.killer.Reset(left)
		}
		return
	}
	j.killer = time.AfterFunc(left, j.kill)
	if err := j.cmd.Start(); err != nil {
		j.done <- ending{err: exitWith(exitNotExecutable, fmt.Errorf("cannot run %s: %w", j.cmd.Path, err))}
		return
	}
	go j.wait()
}

func (j *job) wait() {
	err := j.cmd.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.killer.Stop()
	end := ending{code: j.cmd.ProcessState.ExitCode(), stopped: j.stopped}
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		end.err = exitWith(exitSoftware, err)
	}
	j.done <- end
}

// end kills at once: there is no gentle way to ask.
func (j *job) end(instant) { j.kill() }

func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.cmd.Process != nil:
		j.stopped = true
		_ = j.cmd.Process.Kill()
	case j.killer == nil:
		j.killer = time.NewTimer(0) // it must not start any more
		j.done <- ending{stopped: true}
	}
}

func (j *job) signal(os.Signal) {}

// guardMain: no guards here.
func guardMain(string, []string) error { return usagef("--guard is internal") }

var origin = time.Now()

func clock() instant { return instant(time.Since(origin)) }
