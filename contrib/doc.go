// Package contrib is the root of what fits holdfast to other libraries: gocronlock
// for github.com/go-co-op/gocron, cronlock for github.com/robfig/cron.
//
// Thousands of users, each with an interval of their own, need no such library. The
// example runs the jobs of all users in every process, and each at most once per its
// user's interval: who comes first takes the user's name, under a Mutex.MinHold of
// the interval, and the others are told how long that rests. For each user and
// interval it costs who runs the job three commands (two where the interval is within
// the ttl), and each other process one. A process that dies costs nothing but the run
// that it was in; users come and go with a context.
package contrib
