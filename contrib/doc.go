// Package contrib is the parent of the adapters to other libraries: gocronlock
// for github.com/go-co-op/gocron, cronlock for github.com/robfig/cron, eventlog
// for log/slog.
//
// The example of this package runs a job per user, each at most once per
// interval of that user, without a scheduler library. Every process tries each
// user's name, under a Mutex.MinHold of the interval. The first process runs
// the job. The others learn how long the cool-down of the name lasts. A process
// that dies loses only the run that it was in. Users come and go with a
// context.
package contrib
