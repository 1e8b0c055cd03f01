// Package gocronlock lets several schedulers of github.com/go-co-op/gocron run
// each job once: a Locker takes a name for each run, an Elector one name for all
// runs of a scheduler.
//
// With a Locker the work is spread, and a scheduler that dies costs the run that it
// was in. With Options.Every each tick of a job begins once, however the clocks of the
// schedulers differ: see Client.OnceEvery. Without it each tick of a job is run by who comes first; the others find its name
// held, or resting. That is once per tick only while the clocks of all schedulers differ
// by less than Options.MinHold, all schedulers tick at the same times (gocron.CronJob
// does, a gocron.DurationJob with gocron.WithStartAt), and MinHold is shorter than the
// interval. After a scheduler has died in a run the name stays locked until MinHold,
// or if that is longer the ttl of its Client, is over: the ticks until then are
// skipped. With an Elector one scheduler runs everything, and the others stand in
// line to take over.
//
// Either way a lease can be lost while a job runs. The context of a function made by
// Task ends then, with the cause, and what the job writes should carry the token
// (package fence): a process that is paused can write after its lease has ended.
package gocronlock
