package cell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is one child seen from its parent.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *strings.Builder
	limit  *time.Timer // kills it
}

// startProcess starts a child and gives it its order. A child that has not
// ended by then is killed: reading from it ends at the latest then.
func startProcess(o order, atMost time.Duration) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self), stderr: &strings.Builder{}}
	p.cmd.Env = append(os.Environ(), childVariable+"=1")
	p.cmd.Stderr = p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.limit = time.AfterFunc(atMost, func() { _ = p.cmd.Process.Kill() })
	return p, json.NewEncoder(p.stdin).Encode(o)
}

// ready waits until the child can start.
func (p *process) ready() error {
	line, err := p.stdout.ReadString('\n')
	if err == nil && line != "ready\n" {
		err = fmt.Errorf("said %q", line)
	}
	return p.explain(err)
}

func (p *process) start(at time.Time) error {
	_, err := fmt.Fprintln(p.stdin, at.UnixNano())
	return p.explain(err)
}

func (p *process) tally() (tally, error) {
	var t tally
	err := readJSON(p.stdout, &t)
	return t, p.explain(err)
}

// end ends the child if it has not ended, and waits for it.
func (p *process) end() {
	p.limit.Stop()
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()         // its tally is here, or the error known
}

// explain adds to an error what the child said. It ends the child.
func (p *process) explain(err error) error {
	if err == nil {
		return nil
	}
	p.end()
	return fmt.Errorf("child process: %w: %s", err, strings.TrimSpace(p.stderr.String()))
}
