package bulk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// bulkVariable is set in the environment of a child of a bulk workload.
const bulkVariable = "HOLDFAST_BENCH_BULK"

// bulkOrder says what a child is to do: the first line of its standard input, in
// JSON. It makes its job, and then answers words, a line each, until its input
// ends.
type bulkOrder struct {
	Job     string
	Addr    string // of the server
	TTL     time.Duration
	Number  int    // of this child
	Name    string // what is locked, or what the names begin with
	Leases  int
	Clients int
	Callers int  // of each client
	Shared  bool // all clients of the child on one connection, see hub
}

// bulkJob answers what its parent asks.
type bulkJob interface {
	do(word string) (any, error)
}

type bulkAnswer struct {
	Error string
	Value json.RawMessage
}

func answerParent(stdout io.Writer, value any, failure error) error {
	var a bulkAnswer
	if failure != nil {
		a.Error = failure.Error()
	}
	var err error
	if a.Value, err = json.Marshal(value); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(a)
}

// bulkChild is a child seen from its parent.
type bulkChild struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *strings.Builder
	limit  *time.Timer // kills it
}

// startBulk starts a child. One that has not ended by then is killed.
func startBulk(o bulkOrder, atMost time.Duration) (*bulkChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &bulkChild{cmd: exec.Command(self), stderr: &strings.Builder{}}
	c.cmd.Env = append(os.Environ(), bulkVariable+"=1")
	c.cmd.Stderr = c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdout = bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.limit = time.AfterFunc(atMost, func() { _ = c.cmd.Process.Kill() })
	if err := json.NewEncoder(c.stdin).Encode(o); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

func (c *bulkChild) tell(word string) error {
	_, err := fmt.Fprintln(c.stdin, word)
	return err
}

// hear takes the answer to a word that was told.
func (c *bulkChild) hear(value any) error {
	line, err := c.stdout.ReadBytes('\n')
	var a bulkAnswer
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		c.end()
		return fmt.Errorf("child process: %w %s", err, strings.TrimSpace(c.stderr.String()))
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(a.Value, value)
}

func (c *bulkChild) Ask(word string, value any) error {
	if err := c.tell(word); err != nil {
		return err
	}
	return c.hear(value)
}

// end kills the child (it has nothing to tidy up) and waits for it.
func (c *bulkChild) end() {
	c.limit.Stop()
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()
}

// bulkChildren are told and heard together.
type bulkChildren []*bulkChild

func (all bulkChildren) end() {
	for _, c := range all {
		c.end()
	}
}

// askAll lets all do it at once, and returns what each answered.
func askAll[T any](all bulkChildren, word string) ([]T, error) {
	for _, c := range all {
		if err := c.tell(word); err != nil {
			return nil, err
		}
	}
	values := make([]T, len(all))
	for i, c := range all {
		if err := c.hear(&values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}
