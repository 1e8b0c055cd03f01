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

// A buyer that is a process reads JSON from its stdin and answers on its stdout: one
// enrolment, then one task for each visit. It ends when stdin ends, so it does not outlive
// its parent.
type (
	enrolment struct {
		Sale  *sale `json:"sale"`
		Buyer int   `json:"buyer"`
	}
	answer struct {
		Visit *visit `json:"visit,omitempty"`
		Error string `json:"error,omitempty"`
	}
)

// serveBuyer is the life of such a process.
func serveBuyer(ctx context.Context, stdin io.Reader, stdout io.Writer) (err error) {
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	var who enrolment
	if err := in.Decode(&who); err != nil || who.Sale == nil {
		return cli.Usagef("this command is for 'holdfast demo --processes' only")
	}
	reply := func(v *visit, err error) error {
		a := answer{Visit: v}
		if err != nil {
			a.Error = cli.Redact(err.Error(), who.Sale.URL)
		}
		return out.Encode(a)
	}
	b, err := newBuyer(ctx, who.Sale, who.Buyer)
	if err != nil {
		return reply(nil, err)
	}
	defer func() { err = errors.Join(err, b.leave()) }()
	if err := reply(nil, nil); err != nil {
		return err
	}
	for {
		var t task
		if err := in.Decode(&t); err != nil {
			return nil //nolint:nilerr // the sender is gone
		}
		if err := reply(b.do(ctx, t)); err != nil {
			return err
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
	if _, err := p.ask(ctx, enrolment{s, number}); err != nil {
		return nil, errors.Join(err, p.leave())
	}
	return p, nil
}

func (p *buyerProcess) do(ctx context.Context, t task) (*visit, error) { return p.ask(ctx, t) }

// ask sends one message and reads the answer to it.
func (p *buyerProcess) ask(ctx context.Context, message any) (*visit, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	if err := p.in.Encode(message); err != nil {
		return nil, p.gone(ctx, err)
	}
	var reply answer
	if err := p.out.Decode(&reply); err != nil {
		return nil, p.gone(ctx, err)
	}
	if reply.Error != "" {
		return nil, errors.New(reply.Error)
	}
	return reply.Visit, nil
}

func (p *buyerProcess) gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("a buyer's process (pid %d) is gone: %w", p.cmd.Process.Pid, err)
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
