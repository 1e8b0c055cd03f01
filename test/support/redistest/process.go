package redistest

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/holdfast-go/holdfast/test/support/child"
)

// process is one started process, known by its handle and never by name.
type process struct {
	cmd    *exec.Cmd
	output child.Output    // what it printed; the log is a file of its own
	done   <-chan struct{} // closed when it has ended and was waited for
}

// startProcess starts the program in dir.
func startProcess(path string, args []string, dir string, env ...string) (p *process, err error) {
	p = &process{cmd: exec.Command(path, args...)}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout = &p.output
	p.cmd.Stderr = &p.output
	p.done, err = child.StartServer(p.cmd, syscall.SIGKILL)
	return p, err
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process, frozen or not, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the only error is that it has ended already
	<-p.done
}
