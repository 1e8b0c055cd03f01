// Package cronlock has JobWrappers for github.com/robfig/cron that look beyond the
// process. OnceEvery runs each tick of a job once among all processes. SkipIfHeld is
// SkipIfStillRunning, and DelayIfHeld is DelayIfStillRunning, for a name that all
// processes lock. After a process has died
// in a run the name stays locked until its MinHold, or if that is longer the ttl of its
// Client, is over.
//
// A job that is a Func gets a context that ends, with the cause, when the lease is
// lost while it runs; put these wrappers nearest to the job, at the end of a chain,
// for others hide what the job is. What it writes should carry the token of the
// lease (package fence).
package cronlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/robfig/cron/v3"
)

// DefaultMinHold is Options.MinHold unless they say otherwise.
const DefaultMinHold = 500 * time.Millisecond

// DefaultWait is Options.Wait unless they say otherwise.
const DefaultWait = time.Minute

// Options are the settings of a JobWrapper. The zero value means the defaults.
type Options struct {
	// MinHold is the Mutex.MinHold under which SkipIfHeld runs, unless the Mutex has
	// a longer one: from the grant on nobody else gets the name before that has
	// passed, also when the job takes a millisecond, and when its process dies in
	// it. Make it longer than the clocks of the processes may differ, and shorter
	// than the interval of the job by as much: it is no schedule, and with the
	// interval itself ticks are skipped. A job with a fixed period is better served by
	// OnceEvery, which does not use it. It is at most holdfast.MaxMinHold;
	// more than that panics. Default DefaultMinHold. Negative: none, which is all
	// that a Client of a quorum can do. DelayIfHeld does not use it.
	MinHold time.Duration

	// Wait is how long DelayIfHeld waits at most before it skips the run, and so also
	// how much longer the context that Cron.Stop returns can take because of it: a
	// run that waits does not learn of Stop; the Close of its Client ends it. Default DefaultWait.
	// Negative: as long as it takes.
	Wait time.Duration

	// Logger is told of runs that are skipped (Info) or fail (Error). Default
	// cron.DefaultLogger.
	Logger cron.Logger
}

// Func is a job that wants the lease under which it runs. Without a wrapper of
// this package around it, it is not run.
type Func func(ctx context.Context, lease *holdfast.Lease) error

// Run implements cron.Job, and only says what is wrong.
func (f Func) Run() {
	cron.DefaultLogger.Error(errors.New("cronlock: a Func needs OnceEvery, SkipIfHeld or DelayIfHeld right around it"), "not run")
}

// OnceEvery runs a job once for each tick among all processes that have it, as
// Client.OnceEvery does: the ticks are at and whole periods before and after it, or, if at is
// zero, where the first run is. Use it for a job that has a fixed period, with that
// period. The record of a run says how it ended: a job that is a Func with its error.
// It does not work on a quorum. A skipped run costs one round trip; one that is not four.
func OnceEvery(client *holdfast.Client, name string, period time.Duration, at time.Time, options *Options) cron.JobWrapper {
	o := withDefaults(options)
	return func(job cron.Job) cron.Job {
		return cron.FuncJob(func() {
			err := client.OnceEvery(context.Background(), name, period, at, func(ctx context.Context, lease *holdfast.Lease) error {
				if f, ok := job.(Func); ok {
					return f(ctx, lease)
				}
				job.Run()
				return nil
			})
			switch {
			case errors.Is(err, holdfast.ErrNotDue):
				o.Logger.Info("skip", "name", name, "reason", err)
			case err != nil:
				o.Logger.Error(err, "run", "name", name)
			}
		})
	}
}

// SkipIfHeld skips a run whose name another process holds, or has held within
// MinHold, and so runs each tick once among all processes whose clocks differ by less
// than that. A run is skipped, too, when it can't be known whether the name is held;
// the log says why. A skipped run costs one round trip; one that is not two, and one
// more where MinHold is longer than the ttl.
func SkipIfHeld(mutex *holdfast.Mutex, options *Options) cron.JobWrapper {
	o := withDefaults(options)
	m := *mutex
	m.MinHold = max(m.MinHold, o.MinHold)
	return func(job cron.Job) cron.Job {
		return cron.FuncJob(func() {
			lease, err := m.TryLock(context.Background())
			o.run(job, &m, lease, err)
		})
	}
}

// DelayIfHeld delays a run until the processes that hold the name, or wait for it,
// are done, or until Options.Wait is over: then the run is skipped. They run first come,
// first served, never two at a time. At most one run of the job waits in a process: a tick
// is skipped while the run of an earlier one waits. A run
// costs two round trips, and its wait what that of Mutex.Lock does.
func DelayIfHeld(mutex *holdfast.Mutex, options *Options) cron.JobWrapper {
	o := withDefaults(options)
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	return func(job cron.Job) cron.Job {
		var waits atomic.Bool
		return cron.FuncJob(func() {
			if !waits.CompareAndSwap(false, true) {
				o.Logger.Info("skip", "name", mutex.Name(), "reason", "an earlier run waits for the name")
				return
			}
			lease, err := o.await(mutex)
			waits.Store(false)
			o.run(job, mutex, lease, err)
		})
	}
}

func (o *Options) await(mutex *holdfast.Mutex) (*holdfast.Lease, error) {
	if o.Wait < 0 {
		return mutex.Lock(context.Background())
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Wait)
	defer cancel()
	return mutex.Lock(ctx)
}

func withDefaults(options *Options) (o Options) {
	if options != nil {
		o = *options
	}
	if o.MinHold > holdfast.MaxMinHold {
		panic(fmt.Sprintf("cronlock: Options.MinHold is %v: it must be at most %v", o.MinHold, holdfast.MaxMinHold))
	}
	if o.MinHold == 0 {
		o.MinHold = DefaultMinHold
	}
	if o.Logger == nil {
		o.Logger = cron.DefaultLogger
	}
	return o
}

// run runs the job if there is a lease, and gives that back.
func (o *Options) run(job cron.Job, mutex *holdfast.Mutex, lease *holdfast.Lease, err error) {
	switch {
	case errors.Is(err, holdfast.ErrHeld), errors.Is(err, context.DeadlineExceeded):
		o.Logger.Info("skip", "name", mutex.Name(), "reason", err)
		return
	case err != nil:
		o.Logger.Error(err, "skip", "name", mutex.Name())
		return
	}
	defer func() { // also when the job panics
		if err := lease.Release(); err != nil {
			o.Logger.Error(err, "release", "name", mutex.Name())
		}
	}()
	f, ok := job.(Func)
	if !ok {
		job.Run()
		return
	}
	ctx, cancel := context.WithCancel(lease.Context(context.Background()))
	defer cancel()
	if err := f(ctx, lease); err != nil {
		o.Logger.Error(err, "run", "name", mutex.Name())
	}
}
