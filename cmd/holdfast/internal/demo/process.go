package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// A buyer that is a process reads tasks as JSON from its stdin and answers on its stdout. The
// first task has the sale and the number of the buyer. It ends when stdin ends, so it does
// not outlive its parent.
type answer struct {
	Visit *visit `json:"visit,omitempty"`
	Error string `json:"error,omitempty"`
}

// serveBuyer is the life of such a process.
func serveBuyer(ctx context.Context, stdin io.Reader, stdout io.Writer) (err error) {
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	var t task
	if err := in.Decode(&t); err != nil || t.Sale == nil {
		return cli.Usagef("this command is for 'holdfast demo --processes' only")
	}
	serverURL := t.Sale.URL
	b, failed := newBuyer(ctx, t.Sale, t.Buyer)
	if failed == nil {
		defer func() { err = errors.Join(err, b.leave()) }()
	}
	for v := (*visit)(nil); ; v, failed = b.do(ctx, t) {
		reply := answer{Visit: v}
		if failed != nil {
			reply.Error = cli.Redact(failed.Error(), serverURL)
		}
		if err := out.Encode(reply); err != nil || b == nil {
			return err
		}
		t = task{}
		if err := in.Decode(&t); err != nil {
			return nil //nolint:nilerr // the sender is gone
		}
	}
}

// buyerProcess is the other end of the pipes.
type buyerProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	in     *json.Encoder
	out    *json.Decoder
	stderr bytes.Buffer // read only after Wait
}

// startBuyer starts this binary once more, as one buyer, and returns when that
// is ready. The end of ctx kills it, even while it is asked for its visit.
func startBuyer(ctx context.Context, s *sale, number int) (customer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &buyerProcess{cmd: exec.Command(self, "demo", "buyer")}
	p.cmd.Stderr = &p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = json.NewEncoder(p.stdin), json.NewDecoder(stdout)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start a buyer: %w", err)
	}
	if _, err := p.do(ctx, task{Sale: s, Buyer: number}); err != nil {
		return nil, errors.Join(err, p.leave())
	}
	return p, nil
}

// do sends one task and reads the answer to it.
func (p *buyerProcess) do(ctx context.Context, t task) (*visit, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	var reply answer
	err := p.in.Encode(t)
	if err == nil {
		err = p.out.Decode(&reply)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("a buyer's process (pid %d) is gone: %w", p.cmd.Process.Pid, err)
	case reply.Error != "":
		return nil, errors.New(reply.Error)
	}
	return reply.Visit, nil
}

// leave ends the process: politely, then not.
func (p *buyerProcess) leave() error {
	_ = p.stdin.Close()
	impatience := time.AfterFunc(cleanTimeout, func() { _ = p.cmd.Process.Kill() })
	defer impatience.Stop()
	err := p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && !exit.Exited() {
		return nil // killed: by us, or by the same ctrl-C
	}
	if text := bytes.TrimSpace(p.stderr.Bytes()); err != nil && len(text) > 0 {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}
