//go:build linux

package workers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/support/child"
)

// patience is what nothing waits for when all is well.
const patience = 30 * time.Second

// Process is a child, seen from its parent.
type Process struct {
	Name string

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr child.Output
	ended  chan struct{}                 // closed when it was waited for
	said   map[client.Said]chan struct{} // one token each; the map is not changed

	cleared  atomic.Int64 // how often it said clear
	disarmed int64        // how often it was told to be
}

// start starts this binary in a role.
func start(name string, r role) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, cmd: exec.Command(self), ended: make(chan struct{}), said: map[client.Said]chan struct{}{}}
	for _, word := range []client.Said{client.Ready, client.Reached, client.Settled, client.Done} {
		p.said[word] = make(chan struct{}, 1)
	}
	p.cmd.Env = append(os.Environ(), variable+"="+string(text),
		"GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel takes the thread that forked for the parent to die with
		err := r.enter()
		if r.netns() == "" {
			defer runtime.UnlockOSThread()
		} // else the thread ends with this goroutine: nobody else is to be there
		if err == nil {
			err = p.cmd.Start()
		}
		started <- err
		if err != nil {
			return
		}
		p.listen(stdout)
		_ = p.cmd.Wait() // ProcessState has what is to be known
		close(p.ended)
	}()
	return p, <-started
}

func (p *Process) listen(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if client.Said(lines.Text()) == client.Clear {
			p.cleared.Add(1)
		}
		if word := p.said[client.Said(lines.Text())]; word != nil {
			select {
			case word <- struct{}{}:
			default:
			}
		}
	}
}

// heard waits until the process says a word.
func (p *Process) heard(word client.Said, limit time.Duration) error {
	select {
	case <-p.said[word]:
		return nil
	case <-p.ended:
		select {
		case <-p.said[word]:
			return nil
		default:
		}
		return fmt.Errorf("%s ended before it was %s: %v\n%s", p.Name, word, p.cmd.ProcessState, p.stderr.String())
	case <-time.After(limit):
		return fmt.Errorf("%s was not %s within %v", p.Name, word, limit)
	}
}

func (p *Process) order(o client.Order) error { return json.NewEncoder(p.stdin).Encode(o) }

// stopped waits until all threads of the process have stopped, or it is gone.
func (p *Process) stopped(limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil || bytes.Contains(stat, []byte(") T ")) {
			return err
		}
	}
	return fmt.Errorf("%s did not stop within %v", p.Name, limit)
}

func (p *Process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// kill ends it as kill -9 does, frozen or not, and returns when it is gone.
func (p *Process) kill() {
	_ = p.cmd.Process.Kill() // the only error is that it has ended already
	<-p.ended
}

// complaint is what is wrong with a process that has ended by itself.
func (p *Process) complaint() error {
	if text := p.stderr.String(); !p.cmd.ProcessState.Success() || strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic") {
		return fmt.Errorf("%s: %v\n%s", p.Name, p.cmd.ProcessState, text)
	}
	return nil
}
