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
)

// DefaultMinHold is the default of Options.MinHold.
const DefaultMinHold = 500 * time.Millisecond

// Options are the settings of a [Locker]. The zero value means the defaults.
type Options struct {
	// MinHold is the Mutex.MinHold of the name of a job. No other process gets
	// the name before MinHold has passed since the grant, even if the job takes
	// 1 ms or its process dies.
	//
	// Let D be the largest difference between the clocks of two schedulers.
	// MinHold must be longer than D, and shorter than the interval of each job
	// minus D. If it is as long as the interval, ticks are skipped.
	//
	// At most holdfast.MaxMinHold; a longer one panics. Default:
	// [DefaultMinHold]. Negative: no MinHold. An [Elector] does not need it.
	MinHold time.Duration

	// Every is the period of the jobs, if all jobs of this Locker have the same
	// fixed period. A job then begins once for each tick, with Client.OnceEvery,
	// and MinHold has no effect. For jobs with another period make another
	// Locker (gocron.WithDistributedJobLocker). If gocron starts a job much more
	// often than Every, most runs are skipped, and holdfast.Options.Logger gets
	// one warning. Default: 0, MinHold decides.
	Every time.Duration

	// At is the time of one tick, with Every. Default: the first run of each
	// job is a tick.
	At time.Time

	// The locked name is Prefix plus the name of the job: "job:report". Give
	// this name to Client.LastRun and 'holdfast show'. Default: "job:".
	Prefix string

	// Logger gets a warning if the name of a job could not be released, or if
	// the lease was lost before the job ended. gocron ignores the error of a
	// release. Default: slog.Default().
	Logger *slog.Logger
}

// Locker implements gocron.Locker, for gocron.WithDistributedLocker and
// gocron.WithDistributedJobLocker. Give every job a name with gocron.WithName.
// The default is the name of its function, and two jobs can have the same
// function.
type Locker struct {
	client  *holdfast.Client
	options Options

	mu      sync.Mutex
	running map[string]*lock // by job
}

var _ gocron.Locker = (*Locker)(nil)

// NewLocker makes a Locker. Nil options mean the defaults.
func NewLocker(client *holdfast.Client, options *Options) *Locker {
	l := &Locker{client: client, running: make(map[string]*lock)}
	if options != nil {
		l.options = *options
	}
	if l.options.MinHold > holdfast.MaxMinHold {
		panic(fmt.Sprintf("gocronlock: Options.MinHold is %v: it must be at most %v", l.options.MinHold, holdfast.MaxMinHold))
	}
	if l.options.MinHold == 0 {
		l.options.MinHold = DefaultMinHold
	}
	if l.options.Prefix == "" {
		l.options.Prefix = "job:"
	}
	if l.options.Logger == nil {
		l.options.Logger = slog.Default()
	}
	return l
}

// Lock locks the name of a job without waiting. After an error gocron skips the
// run and passes the error to gocron.AfterLockError. The errors are those of
// [holdfast.Mutex.TryLock]. A *holdfast.HeldError says which process runs the
// job, or ran it. After any other error it is unknown whether another process
// runs the job.
//
// With Options.Every the errors are those of [holdfast.Client.OnceEvery]. A
// *holdfast.NotDueError says which process has begun the tick.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	k := &lock{locker: l, job: job}
	if err := k.begin(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[job] = k
	return k, nil
}

// begin takes the name.
func (k *lock) begin(ctx context.Context) (err error) {
	l := k.locker
	if l.options.Every > 0 {
		return k.beginTick(ctx)
	}
	mutex := l.client.Mutex(l.options.Prefix + k.job)
	mutex.MinHold = max(l.options.MinHold, 0)
	k.lease, err = mutex.TryLock(ctx)
	return err
}

// beginTick begins a run by OnceEvery, whose function then waits for Unlock.
func (k *lock) beginTick(ctx context.Context) error {
	l := k.locker
	begun := make(chan struct{})
	k.outcome, k.ended = make(chan error), make(chan error, 1)
	go func() {
		k.ended <- l.client.OnceEvery(ctx, l.options.Prefix+k.job, l.options.Every, l.options.At, func(_ context.Context, lease *holdfast.Lease) error {
			k.lease = lease
			close(begun)
			return <-k.outcome
		})
	}()
	select {
	case <-begun:
		return nil
	case err := <-k.ended:
		if err == nil {
			err = fmt.Errorf("gocronlock: the lease of job %q was over before it began", k.job)
		}
		return err
	}
}

// lock is one run of a job.
type lock struct {
	locker *Locker
	job    string
	lease  *holdfast.Lease
	failed error // what Task said

	outcome chan error // to the function of OnceEvery; nil: without Every
	ended   chan error // what OnceEvery said
}

// Unlock releases the name in one round trip. Until MinHold is over the name is in cool-down.
// The error is that of Lease.Release.
func (k *lock) Unlock(context.Context) error {
	l := k.locker
	l.mu.Lock()
	if l.running[k.job] == k {
		delete(l.running, k.job)
	}
	failed := k.failed
	l.mu.Unlock()
	err := k.release(failed)
	if err != nil && !errors.Is(err, holdfast.ErrClosed) {
		l.options.Logger.Warn("gocronlock: cannot release the name of a job", "name", k.lease.Name(), "error", err)
	}
	return err
}

func (k *lock) release(failed error) error {
	if k.outcome == nil {
		return k.lease.Release()
	}
	k.outcome <- failed
	err := <-k.ended
	if err == failed { //nolint:errorlint // nothing is joined to it
		return nil
	}
	return err
}

// Task makes a function for gocron.NewTask. The function calls f with the lease
// of the run. The context of f ends with the lease. The function returns the
// error of f, joined with the cause if the lease was lost. gocron passes it to
// gocron.AfterJobRunsWithError.
//
// The parameter "job" must be the name of the job (gocron.WithName). If it is
// another name, or if the scheduler has no Locker, the function does not call f
// and returns an error.
func (l *Locker) Task(job string, f func(ctx context.Context, lease *holdfast.Lease) error) func(context.Context) error {
	return func(ctx context.Context) error {
		l.mu.Lock()
		k := l.running[job]
		l.mu.Unlock()
		if k == nil {
			return fmt.Errorf("gocronlock: no lease of job %q: give the scheduler this Locker, and the job this name (gocron.WithName)", job)
		}
		err := under(ctx, k.lease, f)
		l.mu.Lock()
		k.failed = err
		l.mu.Unlock()
		return err
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
