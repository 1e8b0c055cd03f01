// Package gocronlock lets several schedulers of github.com/go-co-op/gocron run
// each job once. A [Locker] locks a name for each run. An [Elector] locks one
// name for all runs of a scheduler.
//
// With a Locker, all schedulers share the work. A scheduler that dies loses the
// run that it was in. Set Options.Every if the jobs have a fixed period: each
// tick of a job then begins once, even if the clocks of the schedulers differ.
// See [holdfast.Client.OnceEvery].
//
// Without Options.Every the first scheduler runs the tick; the others find its
// name held or in cool-down. That is once per tick only under three conditions:
//
//   - the clocks of all schedulers differ by less than Options.MinHold;
//   - all schedulers tick at the same times, as with gocron.CronJob, or
//     gocron.DurationJob with gocron.WithStartAt;
//   - MinHold is shorter than the interval.
//
// If a scheduler dies during a run, the name stays locked until MinHold and the
// TTL of its Client have passed. Ticks until then are skipped.
//
// With an Elector one scheduler runs all jobs, and the others wait to take
// over.
//
// A lease can be lost while a job runs. The context of a function made by Task
// then ends, with the cause. A paused process can write after its lease has
// ended, so the job should write with the fencing token: see package fence.
package gocronlock
