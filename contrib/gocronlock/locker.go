package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/internal/least"
)

// DefaultHold is how long a job's name is held at least unless Options say more.
const DefaultHold = 500 * time.Millisecond

// Options are the settings of a Locker. The zero value means the defaults.
type Options struct {
	// Hold is how long a job's name is held at least, from the beginning of a run
	// on: longer than the clocks of the schedulers may differ, shorter than the
	// interval of any job. Default DefaultHold; negative: not at all. It ends with
	// the process.
	Hold time.Duration

	// Prefix stands before a job's name to make the name that is locked. Default
	// "job:".
	Prefix string

	// Logger gets what gocron does not want to hear. Default slog.Default().
	Logger *slog.Logger
}

// Locker implements gocron.Locker, for gocron.WithDistributedLocker and
// gocron.WithDistributedJobLocker. Give every job a name (gocron.WithName): the
// default is that of its function, which jobs can share.
type Locker struct {
	client  *holdfast.Client
	options Options

	mu      sync.Mutex
	running map[string]*holdfast.Lease // by job
}

var _ gocron.Locker = (*Locker)(nil)

// NewLocker makes a Locker. Nil options are good defaults.
func NewLocker(client *holdfast.Client, options *Options) *Locker {
	l := &Locker{client: client, running: make(map[string]*holdfast.Lease)}
	if options != nil {
		l.options = *options
	}
	if l.options.Hold == 0 {
		l.options.Hold = DefaultHold
	}
	if l.options.Prefix == "" {
		l.options.Prefix = "job:"
	}
	return l
}

// Lock takes the name of a job without waiting. Its errors are those of
// Mutex.TryLock; gocron skips the run and gives them to gocron.AfterLockError: a
// *holdfast.HeldError says who runs it, anything else that nobody knows.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	lease, err := l.client.Mutex(l.options.Prefix + job).TryLock(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[job] = lease
	return &lock{l, job, lease, least.New(lease, l.options.Hold, l.options.Logger)}, nil
}

// lock is one run of a job.
type lock struct {
	locker *Locker
	job    string
	lease  *holdfast.Lease
	hold   *least.Hold
}

// Unlock gives the name back when Hold is over, in the background until then.
func (k *lock) Unlock(context.Context) error {
	l := k.locker
	l.mu.Lock()
	if l.running[k.job] == k.lease {
		delete(l.running, k.job)
	}
	l.mu.Unlock()
	return k.hold.Release()
}

// Task makes a function for gocron.NewTask of one that wants the lease of its run:
// its context ends when the lease does, and if it was lost the cause is joined to
// the error, which gocron gives to gocron.AfterJobRunsWithError. job is the job's
// name; a run without a lease of that name, since the scheduler has no Locker or
// the job another name, is an error, and f is not called.
func (l *Locker) Task(job string, f func(ctx context.Context, lease *holdfast.Lease) error) func(context.Context) error {
	return func(ctx context.Context) error {
		l.mu.Lock()
		lease := l.running[job]
		l.mu.Unlock()
		if lease == nil {
			return fmt.Errorf("gocronlock: no lease of job %q: its scheduler needs this Locker, and the job that name (gocron.WithName)", job)
		}
		return under(ctx, lease, f)
	}
}

// under runs f with a context that ends with the lease.
func under(ctx context.Context, lease *holdfast.Lease, f func(context.Context, *holdfast.Lease) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // or the lease would remember it
	err := f(lease.Context(ctx), lease)
	if lost := lease.Err(); errors.Is(lost, holdfast.ErrLost) {
		return errors.Join(err, lost)
	}
	return err
}
