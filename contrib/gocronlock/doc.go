// Package gocronlock lets several schedulers of github.com/go-co-op/gocron, in
// different processes, run each job once. A [Locker] locks a name for each run.
// An [Elector] locks one name for all runs of a scheduler.
//
// With a Locker, the schedulers share the work. If a scheduler dies, only its
// current runs are lost. If the jobs have a fixed period, set Options.Every: a
// job then begins once for each tick, even if the clocks of the schedulers
// differ. See [holdfast.Client.OnceEvery].
//
// gocron itself reports no error of a run. To learn of failed and skipped runs,
// give each job the listeners gocron.AfterJobRunsWithError and
// gocron.AfterLockError. A skipped run has the error [holdfast.ErrNotDue] with
// Options.Every, and [holdfast.ErrHeld] without it.
//
// Without Options.Every the first scheduler runs the job, and the others find
// the name held or in cool-down. Then a job runs once for each tick only under
// three conditions:
//
//   - the clocks of all schedulers differ by less than Options.MinHold;
//   - all schedulers tick at the same times, as with gocron.CronJob, or
//     gocron.DurationJob with gocron.WithStartAt;
//   - MinHold is shorter than the interval.
//
// If a scheduler dies during a run, the name stays locked until MinHold and the
// TTL of its Client have both passed. Ticks until then are skipped.
//
// With an Elector one scheduler runs all jobs. If it dies, another one
// continues.
//
// A lease can be lost while a job runs. The context of a function made by Task
// then ends, with the cause. A paused process can write after its lease has
// ended. So the job should send the fencing token with each write: see package
// fence.
package gocronlock
