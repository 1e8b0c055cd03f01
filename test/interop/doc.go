// Package interop holds tests of holdfast beside lock clients of other
// languages on the same key of a real server: redlock and redis-semaphore of
// Node.js, and the Lock of redis-py. holdfast's lock is the lock of the Redis
// documentation, so any client that sets a key by SET NX PX, and deletes it only
// while the value is its own, must exclude holdfast and be excluded by it.
//
// The tests need node, npm and a python3 that has redis-py, and so have a build
// tag:
//
//	go test -tags interop ./test/interop/
//
// Each foreign client is a small program, in js and py, that takes commands as
// lines on its standard input and answers each with one line:
//
//	lock MS                   waits for the lock, for MS milliseconds  -> locked
//	try MS                    asks once                                -> locked | held
//	unlock                    gives it back                            -> unlocked | not held
//	count N COUNTER MARKER    takes it N times, see below              -> counted SWITCHES OVERLAPS
//
// Each time it has the lock, count makes the file MARKER, which must not be
// there, reads the number in the file COUNTER, waits a moment, writes the number
// one higher, and removes MARKER. Nothing but the lock protects that. A SWITCH is
// a turn that came after one of somebody else.
package interop
