package redistest

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// process is one started process, known by its handle and never by name.
// How it is ended stands in process_unix.go.
type process struct {
	cmd    *exec.Cmd
	output lockedBuffer  // what it printed; the log is a file of its own
	done   chan struct{} // closed when it has ended and was waited for
}

// startProcess starts the program in dir. The goroutine that starts it keeps
// its thread until the process has ended: on Linux the process is to die with
// its parent, and the kernel takes the thread that forked for the parent.
func startProcess(path string, args []string, dir string, env ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout = &p.output
	p.cmd.Stderr = &p.output
	p.cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = p.cmd.Wait() // it is killed as a rule; that is no news
		close(p.done)
	}()
	return p, <-started
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process, frozen or not, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the only error is that it has ended already
	<-p.done
}

// lockedBuffer is a bytes.Buffer that can be read while it is written.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer // guarded by mu
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
