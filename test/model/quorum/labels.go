package quorum

import "github.com/holdfast-go/holdfast/test/model"

// Everything that a step can do.
const (
	tickNote model.Note = iota
	expires
	endsEarly
	restartKeeps
	restartForgets
	restartEmpty
	noticesRestart
	lockDoubled
	twinRuns
	noMember
	sitsOut
	grantedBefore
	voteHeld
	voteGiven
	lockRuns
	voteHeard
	majority
	gaveMore
	raiseSent
	raiseRuns
	raiseDone
	raiseLost
	raiseHeard
	won
	tooLate
	lateVoteUndone
	tryBegins
	tryGivenUp
	turnGiven
	leaves
	unlockRuns
	unlockDone
	unlockNotHeld
	renewalSent
	renewRuns
	renewDone
	renewLost
	renewEmpty
	renewHeard
	renewalHeard
	leaseLost
	repairIsSent
	repairRuns
	repairDone
	repairLost
	repairHeard
	fenced
	marked
	noteCount
)

var labels = [noteCount]string{
	tickNote: "a tick passes", expires: "L of a node expires", endsEarly: "L of a node ends early", restartKeeps: "a node is restarted with its data",
	restartForgets: "a node is restarted without L and F", restartEmpty: "a node is restarted empty",
	noticesRestart: "it notices that it was restarted", lockDoubled: "a lock is doubled", twinRuns: "its second run",
	noMember: "no member", sitsOut: "no vote", grantedBefore: "granted as before", voteHeld: "held", voteGiven: "granted",
	lockRuns: "lock runs on a node", voteHeard: "a vote is heard", majority: "a majority granted", gaveMore: "one gave more than T: it can't count",
	raiseSent: "raise sent", raiseRuns: "raise runs on a node", raiseDone: "raised", raiseLost: "not raised", raiseHeard: "raised is heard",
	won: "won", tooLate: "won when its time was over: undone", lateVoteUndone: "it is too late: unlock sent",
	tryBegins: "a try begins", tryGivenUp: "a try is given up: unlock sent", turnGiven: "a turn begins", leaves: "unlock sent",
	unlockRuns: "unlock runs on a node", unlockDone: "released", unlockNotHeld: "not held",
	renewalSent: "renew sent", renewRuns: "renew runs on a node", renewDone: "renewed", renewLost: "lost", renewEmpty: "lost, L is empty",
	renewHeard: "an answer to renew is heard", renewalHeard: "a majority renewed", leaseLost: "the lease is lost",
	repairIsSent: "repair sent", repairRuns: "repair runs on a node", repairDone: "repaired", repairLost: "not repaired",
	repairHeard: "repaired is heard", fenced: "an old member is taken out", marked: "a new member is marked",
}
