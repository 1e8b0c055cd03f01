// Package contrib is the parent of the adapters to other libraries: gocronlock
// for github.com/go-co-op/gocron, cronlock for github.com/robfig/cron, eventlog
// for log/slog. Each adapter that needs another library is a module of its own.
//
// The example of this package needs no scheduler library. It runs one job for
// each user, at most once per interval of that user. Every process tries to lock
// the name of each user, with a Mutex.MinHold of the interval. The first process
// runs the job. The others learn how long the cool-down of the name lasts. If a
// process dies, only its current runs are lost. To remove a user, end the context
// of its job.
package contrib
