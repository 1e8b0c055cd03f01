// Package child starts processes: this program again, which is then told and asked in
// lines of JSON, and servers. All end when this program does.
package child

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Child is this program started again, seen from its parent.
type Child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout Lines
	stderr strings.Builder // read when it has ended
	limit  *time.Timer     // kills it
}

// Start starts this program with a variable in its environment. A child that has not
// ended by then is killed: reading from it ends at the latest then.
func Start(variable, value string, atMost time.Duration) (*Child, error) {
	return StartProgram("", variable, value, atMost)
}

// StartProgram is Start for another program, which has to understand the same orders; empty
// is this one.
func StartProgram(program, variable, value string, atMost time.Duration) (*Child, error) {
	var err error
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	c := &Child{cmd: exec.Command(program)}
	c.cmd.Env = append(os.Environ(), variable+"="+value)
	c.cmd.Stderr = &c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdout = NewLines(stdout)
	if err := Launch(c.cmd, syscall.SIGKILL); err != nil {
		return nil, err
	}
	c.limit = time.AfterFunc(atMost, func() { _ = c.cmd.Process.Kill() })
	return c, nil
}

// Tell sends a line.
func (c *Child) Tell(v any) error { return c.explain(Say(c.stdin, v)) }

// Hear reads a line.
func (c *Child) Hear(v any) error { return c.explain(c.stdout.Read(v)) }

// Ask sends a line and reads the answer.
func (c *Child) Ask(question, answer any) error {
	if err := c.Tell(question); err != nil {
		return err
	}
	return c.Hear(answer)
}

// End kills the child, if it has not ended, and waits for it.
func (c *Child) End() {
	c.limit.Stop()
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()         // what it said is here, or the error known
}

// Pid is its process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Signal sends a signal.
func (c *Child) Signal(signal os.Signal) error { return c.cmd.Process.Signal(signal) }

// explain adds to an error what the child said. It ends the child.
func (c *Child) explain(err error) error {
	if err == nil {
		return nil
	}
	c.End()
	return fmt.Errorf("child process: %w: %s", err, strings.TrimSpace(c.stderr.String()))
}

// Lines are lines of JSON, read one by one.
type Lines struct{ r *bufio.Reader }

// NewLines reads from r, which nothing else may read from.
func NewLines(r io.Reader) Lines { return Lines{bufio.NewReader(r)} }

// Read reads the next line into v; nil: it only has to come.
func (l Lines) Read(v any) error {
	line, err := l.r.ReadBytes('\n')
	if err != nil || v == nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// Say writes a line.
func Say(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
