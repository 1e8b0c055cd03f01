//go:build unix

package demo

import (
	"context"
	"errors"
	"syscall"
)

// newSleeper starts a buyer that is a process, and is frozen as one.
func newSleeper(ctx context.Context, s *sale, number int) (sleeper, error) {
	p, err := startBuyer(ctx, s, number)
	if err != nil {
		return nil, err
	}
	return &frozenProcess{p}, nil
}

type frozenProcess struct{ *buyerProcess }

func (p *frozenProcess) begin(ctx context.Context, checked bool) error {
	_, err := p.ask(ctx, task{Way: frozenWay, Checked: checked})
	return err
}

func (p *frozenProcess) freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *frozenProcess) thaw() error   { return p.cmd.Process.Signal(syscall.SIGCONT) }

func (p *frozenProcess) finish(ctx context.Context) (*visit, error) {
	v, err := p.ask(ctx, task{Way: frozenWay, Finish: true})
	if err == nil && v == nil {
		err = errors.New("a buyer's process answered without a visit")
	}
	return v, err
}

// leave thaws it first: what is frozen does not go home.
func (p *frozenProcess) leave() error {
	_ = p.thaw()
	return p.buyerProcess.leave()
}
