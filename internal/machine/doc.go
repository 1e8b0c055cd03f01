// Package machine is the state machine of one Client. It stores the state of each name and decides
// what to do next. It is pure: it does no I/O, starts no goroutine, never blocks and reads no clock.
//
// Package engine is the engine around it. The engine calls a [Client] under its one mutex, with
// each call of the user, each answer, each push and the current time. The Client calls its [Host]
// for all that has an effect outside.
//
// A [Client] is the state of one holdfast.Client. A [Name] is one name in it: the local waiters, in order,
// and the one [Tenure] by which the Client asks for the name, holds it or releases it. A [Turn] is
// the use of a tenure by one local waiter. A [Request] is one script call. A [Kind] has the way in
// which a name is asked for: as a Mutex, as a part of a Semaphore, with another owner or ttl.
//
//	          waiter          granted                  nobody left to serve
//	(no id) ---------> asked ----------> holding -------------------------> releasing
//	                     |                ^   |                                  |
//	              queued |        granted |   | deadline, MaxHold,               | released,
//	                     v                |   | revoked, exported                | not held
//	                   queued ------------+   v                                  v
//	                     |              unreleased --------------------------> ended
//	                     |                          Release, or Grace            ^
//	                     +-------------------------------------------------------+
//	                       all waiters gave up (asked, too), or lost (holding)
//
// A tenure only moves forward. If waiters are left at its end, the name begins the next tenure, with
// another id: the successor, whose id unlock has queued, or a new one.
//
// Each ending has one verb. endTenure is the last step of each way in which a tenure ends.
//
//	what ends                          verb      what is left in Redis
//	a turn                             end       the id: the tenure goes on, or ends by one of the next rows
//	a tenure before its grant          give up   the id in the lock key or the queue, until cancel
//	a tenure at its deadline, after    stop      the lock key, until Release, Grace or its expiry; without a
//	MaxHold, or revoked                          turn it is released at once
//	a stopped tenure, never released   expire    nothing: the lock key has expired
//	a tenure that Redis does not have  lose      nothing
//	a tenure by unlock or cooldown     release   nothing, or the id of its successor in the queue, or the cool-down
//	a tenure by Lease.Export           export    the lock key: it is the adopter's
//	a local name that nobody wants     forget    nothing; it gives up its tenure first
//	a cleanup                          finish    nothing, or keys that expire by themselves
//	all of them                        close     nothing, after the calls that Client.Close returns
//
// Most inputs change the state and then call Name.step, which decides what to do next. Name.arm
// sets the timer for what is due later.
//
// The rules have the numbers of docs/protocol.md. These functions, types and phases keep them.
// Package holdfast keeps rule 14, Once. Package lifetime decides for the rules 5, 12, 13 and 16.
//
//	 1  subscribed before it waits      sendLock, serve; Subscriber
//	 2  the first grant begins          granted, begin
//	 3  what is given up is cancelled   giveUp, endTenure, cancelTenure, cancelID, cancelStaleID
//	 4  "not held" is released          unlockAnswered, lossAtUnlock
//	 5  left alone until Release        stop, releaseStopped
//	 6  no push is trusted alone        OnPush, pollWhenPushed, askAgain, revocationPushed
//	 7  a forgotten subscription        queued, resubscribe
//	 8  too slow is an error            lateAgain, prepareTurn, tooSlow
//	 9  a slot that moves               handOverAfterSplit, renewAnswered
//	10  WaitReplicas                    awaitAcknowledged, renewAnswered, tooFewReplicas
//	11  revoke, steal, export           revocationPushed, stolen, notStolen, Export
//	12  MinHold                         serve, renewArgs, endCall
//	13  MaxHold                         Over, stop, graceOver
//	15  OnceEvery                       FirstLock
//	16  NoRenew                         renew, check, checkAnswered
//
// The files, in reading order: client, name, tenure, ask, hold, renew, release, local, contact,
// kind, subscriber.
package machine
