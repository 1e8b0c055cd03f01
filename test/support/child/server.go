package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Launch starts a command that gets a signal when this program ends, however that ends, and
// though the command is frozen; only Linux can do that.
//
// The kernel takes the thread that forked for the parent, so one thread starts all commands. It
// belongs to a goroutine that never ends.
func Launch(cmd *exec.Cmd, signal syscall.Signal) error {
	dieWithParent(cmd, signal)
	err := make(chan error)
	launcher() <- func() { err <- cmd.Start() }
	return <-err
}

var launcher = sync.OnceValue(func() chan<- func() {
	launches := make(chan func())
	go func() {
		runtime.LockOSThread()
		for launch := range launches {
			launch()
		}
	}()
	return launches
})

// StartServer is Launch, and waits for the command. The channel closes when it has ended.
func StartServer(cmd *exec.Cmd, signal syscall.Signal) (ended <-chan struct{}, err error) {
	if err := Launch(cmd, signal); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed as a rule; that is no news
		close(done)
	}()
	return done, nil
}
