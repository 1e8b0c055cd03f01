package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/holdfast-go/holdfast"
)

// ErrNotLeader means that a scheduler skipped a run, because it does not lead. A
// [*NotLeaderError] has the cause.
var ErrNotLeader = errors.New("gocronlock: not the leader")

// NotLeaderError says why this scheduler does not lead.
type NotLeaderError struct {
	Name  string
	Cause error // why this scheduler lost the lead, or could not ask for it; nil: another scheduler leads
}

func (e *NotLeaderError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("%v of %s: another is", ErrNotLeader, e.Name)
	}
	return fmt.Sprintf("%v of %s: %v", ErrNotLeader, e.Name, e.Cause)
}

// Unwrap gives ErrNotLeader and the cause.
func (e *NotLeaderError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrNotLeader}
	}
	return []error{ErrNotLeader, e.Cause}
}

// Elector implements gocron.Elector, for gocron.WithDistributedElector. It
// waits for a name, holds it as long as it can, and waits again after a loss.
type Elector struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex // protects the rest
	lease *holdfast.Lease
	cause error
	end   error
}

var _ gocron.Elector = (*Elector)(nil)

// NewElector makes an Elector, which waits for the name from now on. Close it
// before the client.
func NewElector(client *holdfast.Client, name string) *Elector {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Elector{name: name, cancel: cancel, done: make(chan struct{})}
	go e.stand(ctx, client.Mutex(name))
	return e
}

// stand waits to lead, leads, and repeats that.
func (e *Elector) stand(ctx context.Context, mutex *holdfast.Mutex) {
	defer close(e.done)
	for ctx.Err() == nil {
		lease, err := mutex.Lock(ctx)
		e.note(lease, err)
		if err != nil {
			if errors.Is(err, holdfast.ErrClosed) {
				return
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-lease.Done():
		case <-ctx.Done():
		}
		err = lease.Release() // of a lost one: how it was lost
		e.note(nil, err)
		e.mu.Lock()
		e.end = err
		e.mu.Unlock()
	}
}

func (e *Elector) note(lease *holdfast.Lease, cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lease, e.cause, e.end = lease, cause, nil
}

// IsLeader returns nil while this Elector holds the name, by its own clock, and
// a [*NotLeaderError] otherwise. It sends nothing to Redis.
func (e *Elector) IsLeader(context.Context) error {
	_, err := e.leads()
	return err
}

func (e *Elector) leads() (*holdfast.Lease, error) {
	e.mu.Lock()
	lease, cause := e.lease, e.cause
	e.mu.Unlock()
	if lease == nil {
		return nil, &NotLeaderError{e.name, cause}
	}
	if err := lease.Err(); err != nil {
		return nil, &NotLeaderError{e.name, err}
	}
	return lease, nil
}

// Task makes a function for gocron.NewTask. The function calls f with the lease
// under which the scheduler leads. The context of f ends with that lease. The
// function returns the error of f, joined with the cause if the lease was lost.
// If the lease was lost before f could begin, the function does not call f.
func (e *Elector) Task(f func(ctx context.Context, lease *holdfast.Lease) error) func(context.Context) error {
	return func(ctx context.Context) error {
		lease, err := e.leads()
		if err != nil {
			return err
		}
		return under(ctx, lease, f)
	}
}

// Close stops the Elector and hands the lead to the next waiter at once. Stop the
// scheduler before Close, because a job that still runs then runs without the
// lead. Close returns the error of Lease.Release, or nil if the Elector did not
// lead.
func (e *Elector) Close() error {
	e.cancel()
	<-e.done
	e.mu.Lock()
	defer e.mu.Unlock()
	if errors.Is(e.end, holdfast.ErrClosed) {
		return nil
	}
	return e.end
}
