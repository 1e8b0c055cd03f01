// Package cronlock has JobWrappers for github.com/robfig/cron that work across
// processes. [OnceEvery] runs a job once for each tick among all processes.
// [SkipIfHeld] works like cron.SkipIfStillRunning, and [DelayIfHeld] like
// cron.DelayIfStillRunning, but across all processes that lock the same name.
//
// If a process dies during a run, the name stays locked until its MinHold and
// the TTL of its Client have both passed.
//
// A job of type [Func] gets a context that ends, with the cause, when the lease
// is lost. Put these wrappers last in a chain, next to the job, because other
// wrappers hide the type of the job. The job should send the fencing token of
// the lease with each write: see package fence.
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
	// MinHold is the Mutex.MinHold that SkipIfHeld uses, unless the Mutex has a
	// longer one. No other process gets the name before MinHold has passed
	// since the grant, even if the job takes 1 ms or its process dies.
	//
	// Let D be the largest difference between the clocks of two processes.
	// MinHold must be longer than D, and shorter than the interval of the job
	// minus D. If it is as long as the interval, ticks are skipped. For a job
	// with a fixed period use OnceEvery, which does not need MinHold.
	//
	// At most holdfast.MaxMinHold; a longer one panics. Default:
	// [DefaultMinHold]. Negative: no MinHold.
	// DelayIfHeld does not use it.
	MinHold time.Duration

	// Wait is how long DelayIfHeld waits for the name at most. After that it
	// skips the run. Cron.Stop does not end the wait, so the context that Stop
	// returns can end up to Wait later. Close of the Client ends the wait. Default: [DefaultWait]. Negative: no limit.
	Wait time.Duration

	// Logger gets skipped runs as Info. It gets failed runs as Error, and runs
	// that were skipped because of an error, for example when Redis does not
	// answer. Default: cron.DefaultLogger, which prints errors only.
	Logger cron.Logger
}

// Func is a job that gets the lease under which it runs. It needs a wrapper of
// this package: without one the job does not run, and an error is logged.
type Func func(ctx context.Context, lease *holdfast.Lease) error

// Run implements cron.Job. It logs that the Func needs a wrapper.
func (f Func) Run() {
	cron.DefaultLogger.Error(errors.New("cronlock: wrap the Func in OnceEvery, SkipIfHeld or DelayIfHeld, as the last wrapper of the chain"), "job not run")
}

// OnceEvery runs a job once for each tick among all processes that have the job,
// with [holdfast.Client.OnceEvery]. The parameter "at" is the time of one tick.
// The others are whole periods before and after it. If "at" is zero, the first
// run is a tick. The schedule that you give to cron must have the same period.
// If cron starts the job much more often, most runs are skipped, and
// holdfast.Options.Logger gets one warning.
//
// Redis stores when the newest run began and ended, and the error of a [Func]:
// see [holdfast.Client.LastRun].
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

// SkipIfHeld skips a run if another process holds the name, or got it less than
// MinHold ago. So the job runs once for each tick if the clocks of the processes
// differ by less than MinHold. A run is also skipped if Redis does not answer;
// the Logger gets that as Error.
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

// DelayIfHeld delays a run until the name is free. If Options.Wait passes first,
// the run is skipped. Processes run the job in the order of their requests,
// never two at a time. In each process at most one run of the job waits. While
// it waits, the process skips later ticks.
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
	case errors.Is(err, holdfast.ErrHeld), errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, holdfast.ErrUnreachable):
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
