// Package bench measures holdfast beside other lock libraries of Go, in turn, in
// one run, against one redis-server (and one etcd, where there is one) that it
// starts itself.
//
// Packages below: contend has the words, rivals and limit have who is measured, workload
// lists what is measured, cell and bulk measure it, report judges and prints it, draw
// draws the pictures. To add a library, add a contender to rivals and to workload. The
// program is cmd:
//
//	make bench         # about ten minutes, a table
//	make bench-quick   # seconds, figures of little worth
//	make bench-check   # that nothing got slower than the committed figures
//	go run ./test/bench/cmd -run B4 -who 'holdfast|redislock' -rounds 3
//	go run ./test/bench/cmd -run '^F' -save # the family again, other figures stay
//
// A cell is one contender in one workload. It runs in processes of its own, the
// benchmark's binary executed again: none for two contenders, so that nothing
// one left behind (connections, goroutines, garbage) weighs on the next, and a
// contender that hangs is ended with its process. In each round every workload
// is given to all contenders one after the other, in another order in each round,
// so that a machine that gets slower for a while does so for all of them. What is
// shown is the median of the rounds; a ratio is taken within each round first.
//
// Callers run in a closed loop: lock, work, release, again. They begin before
// the window that is measured and go on until after it. A wait is the time from
// the call to its return and counts in the window it ended in. The longest wait
// knows more: a wait cut by the end of the cell counts there too, or a caller
// that never got the lock would look better than one that waited.
//
// Limits are measured like contenders, in the same rounds: they do less than a lock
// that keeps what is promised, and show about what can be reached on this machine and
// client library. They are what -check divides by, since absolute figures of two days
// are of two machines.
package bench
