// Package machine is what one Client knows of its names, and what it decides about them. It is
// pure: it does no I/O, starts nothing, waits for nothing and reads no clock. The engine calls it
// under one mutex, with each call of the user, each answer, each push, and the time. What is to
// be done it tells its [Host].
//
// A [Process] is the whole. A [Name] is one name in it: the local waiters, in order, and the one
// [Tenure] by which the process asks for the name, holds it or leaves it. A [Turn] is what one
// waiter gets of a tenure. A [Request] is one run of a script on its way. A [Kind] is how a name
// is asked for: as a Mutex, as a part of a Semaphore, for another owner.
//
//	          waiter              granted                  nobody left, or recalled
//	nothing ----------> asked ------------------> holding ------------------------> releasing
//	   ^                  | held: listen, lock again |  ^                               |
//	   |                  | queued                   |  | granted (pushed or answered)  | released
//	   |                  v                          |  |                               |
//	   |               queued -----------------------|--+<------- a fresh id is queued -+
//	   |                  | all waiters gave up      |                                  |
//	   +------- cancel ---+              lost, over: a new id if waiters are left       |
//	   +--------------------------------------------------------------------------------+
//
// Each input changes facts, and then calls step of Name, which alone decides what is done next.
// The rules have the numbers of docs/protocol.md. Each is kept by the functions named here.
//
//	 1  subscribed before it waits      sendLock, serve; Subscriber
//	 2  the first grant begins          granted, begin
//	 3  what is given up is cancelled   giveUp, end, cancelTenure, cancelID, cancelStaleID
//	 4  "not held" is released          unlockAnswered, lossAtUnlock
//	 5  left alone until Release        expire, retire, releaseEnded
//	 6  no push is trusted alone        OnPush, pollWhenPushed, askAgain, revocationPushed
//	 7  a forgotten subscription        queued, resubscribe
//	 8  too slow is an error            lateAgain, topUp, tooSlow
//	 9  a slot that moves               handOverAfterSplit, renewAnswered
//	10  WaitReplicas                    confirm, acknowledged, tooFewReplicas
//	11  revoke, steal, export           revocationPushed, stolen, notStolen, Export
//	12  MinHold                         minHold, requiredTTL, coolDown
//	13  MaxHold                         setHoldLimits, over, releaseEndedLater
//	15  OnceEvery                       FirstLock
//	16  NoRenew                         heldWithoutRenewal, check, prolonged
//
// The files, in reading order: process, name, tenure, ask, hold, renew, release, waiter, kind,
// subscriber.
package machine
