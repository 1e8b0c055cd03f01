// Package bench measures holdfast beside other lock libraries of Go on Redis,
// in turn, in one run, against one redis-server that it starts itself. The
// program is cmd:
//
//	go run ./internal/lab/bench/cmd            # some minutes, a table
//	go run ./internal/lab/bench/cmd -quick     # seconds, figures of little worth
//
// A cell is one contender in one workload. It runs in processes of its own, the
// benchmark's binary executed again: none for two contenders, so that nothing
// one left behind (connections, goroutines, garbage) weighs on the next, and a
// contender that hangs is ended with its process. In each round every workload
// is given to all contenders one after the other, and every round begins with
// another contender, so that a machine that gets slower for a while does so for
// all of them. What is shown is the median of the rounds.
//
// Callers run in a closed loop: lock, work, release, again. They begin before
// the window that is measured and go on until after it. A wait is the time from
// the call to its return and counts in the window it ended in. The longest wait
// knows more: a wait cut by the end of the cell counts there too, or a caller
// that never got the lock would look better than one that waited.
package bench
