package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartServer starts a command that gets a signal when this program ends, however that
// ends; only Linux can do that. The channel closes when it has ended.
//
// The goroutine that starts it keeps its thread until then: the kernel takes the thread
// that forked for the parent.
func StartServer(cmd *exec.Cmd, signal syscall.Signal) (ended <-chan struct{}, err error) {
	dieWithParent(cmd, signal)
	done, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed as a rule; that is no news
			close(done)
		}
	}()
	return done, <-started
}
