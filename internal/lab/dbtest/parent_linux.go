package dbtest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieWithParent makes the kernel end the server at once when the test binary ends
// in a way that runs no cleanup.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }

// start starts a command. The goroutine that does so keeps its thread until the
// command has ended: the kernel takes the thread that forked for the parent.
func start(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	done, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(done)
		}
	}()
	return done, <-started
}
