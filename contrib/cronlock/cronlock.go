// Package cronlock has JobWrappers for github.com/robfig/cron that work across
// processes. [OnceEvery] runs each tick of a job once among all processes.
// [SkipIfHeld] is cron.SkipIfStillRunning, and [DelayIfHeld] is
// cron.DelayIfStillRunning, for a name that all processes lock.
//
// If a process dies during a run, the name stays locked until its MinHold and
// the TTL of its Client have passed.
//
// A job that is a [Func] gets a context that ends, with the cause, when the
// lease is lost. Put these wrappers last in a chain, next to the job, because
// other wrappers hide the type of the job. The job should write with the
// fencing token of the lease: see package fence.
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

// DefaultMinHold is the default of Options.MinHold.
const DefaultMinHold = 500 * time.Millisecond

// DefaultWait is the default of Options.Wait.
const DefaultWait = time.Minute

// Options are the settings of a JobWrapper. The zero value means the defaults.
type Options struct {
	// MinHold is the Mutex.MinHold under which SkipIfHeld runs, unless the
	// Mutex has a longer one. No process gets the name before MinHold has
	// passed since the grant, even if the job takes 1 ms or its process dies.
	// Make it longer than the clocks of the processes may differ. Make it
	// shorter than the interval of the job by the same amount: if it is the
	// interval itself, ticks are skipped. For a job with a fixed period use
	// OnceEvery, which does not need MinHold.
	//
	// At most holdfast.MaxMinHold; a longer one panics. Default:
	// [DefaultMinHold]. Negative: no MinHold, which is required on a quorum.
	// DelayIfHeld does not use it.
	MinHold time.Duration

	// Wait is how long DelayIfHeld waits at most before it skips the run. The
	// context that Cron.Stop returns can take longer by this time: a waiting
	// run does not notice Stop. Close of its Client ends the wait. Default:
	// [DefaultWait]. Negative: no limit.
	Wait time.Duration

	// Logger gets skipped runs (Info) and failed runs (Error). Default:
	// cron.DefaultLogger.
	Logger cron.Logger
}

// Func is a job that takes the lease under which it runs. It needs a wrapper of
// this package; without one it does not run.
type Func func(ctx context.Context, lease *holdfast.Lease) error

// Run implements cron.Job, and only says what is wrong.
func (f Func) Run() {
	cron.DefaultLogger.Error(errors.New("cronlock: wrap the Func in OnceEvery, SkipIfHeld or DelayIfHeld, as the last wrapper of the chain"), "job not run")
}

// OnceEvery runs a job once for each tick among all processes that have it, as
// [holdfast.Client.OnceEvery] does. The ticks are at, and whole periods before
// and after it. If at is zero, the first run is a tick. Use it for a job with a
// fixed period, with that period. The record of a run says how it ended: for a
// [Func], with its error. It does not work on a quorum.
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

// SkipIfHeld skips a run if another process holds the name or has held it
// within MinHold. So it runs each tick once among all processes whose clocks
// differ by less than MinHold. It also skips a run if Redis does not say
// whether the name is held. The log says why.
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

// DelayIfHeld delays a run until the processes that hold the name, or wait for
// it, are done. If Options.Wait passes first, the run is skipped. Processes run
// in the order of their requests, never two at a time. At most one run of the
// job waits in a process: while it waits, later ticks are skipped.
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
