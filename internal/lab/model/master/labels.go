package master

import "github.com/holdfast-go/holdfast/internal/lab/model"

// Everything that a step can do. A search that never does one of them within all
// bounds fails: what was not tried was not checked.
const (
	// Faults, and time.
	tickNote model.Note = iota
	loseRequest
	loseAnswer
	losePush
	giveUpRequest
	delayMessage
	doubleRequest
	doublePush
	crash
	freeze
	thaw
	dropSubscription
	evict
	// The server: scripts, by what they did.
	lockOurs
	lockFree
	lockHeld
	lockTryAllDead
	lockTryHandsOver
	lockQueued
	lockQueuedAgain
	lockKeepsPlace
	lockHandsOver
	lockGrantedInTurn
	unlockReleased
	unlockGrantsFresh
	unlockQueuesFresh
	unlockNotHeld
	unlockMovesLine
	cancelRemoved
	cancelEndsHolder
	cancelTellsHead
	cancelFree
	cancelNothing
	renewRenewed
	renewLost
	handOver
	skipDead
	sendNext
	sendRecall
	unheard
	expired
	subscribed
	// The processes.
	callerComes
	callerGivesUp
	asksByTry
	asksAndWaits
	asksAgain
	wantsWake
	begins
	prolongs
	revivesNothing
	overOnArrival
	tooSlow
	ghostCancelled
	wasRefused
	wasQueued
	turnGiven
	releases
	releasesOver
	departs
	departsQueuesAgain
	unlockAgain
	departed
	goneBeforeAnswer
	deadline
	deadlineInTurn
	renews
	renewed
	learnsOfLoss
	recallHeard
	recallEarly
	recallByCount
	nextHeard
	cancelAgain
	errandDone
	confirmed
	noticesBreak
	subscribesAgain
	topsUp
	givesUpID
	noteCount
)

var labels = [noteCount]string{
	tickNote: "a tick passes", loseRequest: "a request is lost", loseAnswer: "an answer is lost", losePush: "a push is lost",
	giveUpRequest: "a request is given up that is still under way", delayMessage: "a message is delayed", doubleRequest: "a request is doubled", doublePush: "a push is doubled",
	crash: "the process dies", freeze: "the process freezes", thaw: "the process thaws", dropSubscription: "the server drops the subscription", evict: "somebody deletes L",

	lockOurs: "lock runs: granted, L is id", lockFree: "lock runs: granted, L and Q are empty", lockHeld: "lock runs: held",
	lockTryAllDead: "lock (try) runs: granted, nobody in Q lives", lockTryHandsOver: "lock (try) runs: held, L handed over",
	lockQueued: "lock runs: queued", lockQueuedAgain: "lock runs: queued as before", lockKeepsPlace: "lock runs: queued with its kept arrival",
	lockHandsOver: "lock runs: queued, L handed over", lockGrantedInTurn: "lock (wait) runs: granted, nobody living before it",
	unlockReleased: "unlock runs: released", unlockGrantsFresh: "unlock runs: granted to the fresh id", unlockQueuesFresh: "unlock runs: fresh id queued",
	unlockNotHeld: "unlock runs: not held", unlockMovesLine: "unlock runs: not held, L empty and handed over",
	cancelRemoved: "cancel runs: taken out of Q", cancelEndsHolder: "cancel runs: L was id", cancelTellsHead: "cancel runs: the head is gone, the next one told",
	cancelFree: "cancel runs: L is empty", cancelNothing: "cancel runs: nothing to do", renewRenewed: "renew runs: renewed", renewLost: "renew runs: lost",
	handOver: "hand-over", skipDead: "dead taken out of Q", sendNext: "head published", sendRecall: "recall published", unheard: "a push reaches nobody",
	expired: "L expires", subscribed: "subscribe runs",

	callerComes: "a caller comes", callerGivesUp: "a caller gives up", asksByTry: "lock (try) sent", asksAndWaits: "lock (wait) sent", asksAgain: "lock sent again",
	wantsWake: "subscribe sent", begins: "granted: the tenure begins", prolongs: "granted again", revivesNothing: "granted after the deadline: nothing",
	overOnArrival: "the grant is over on arrival", tooSlow: "two grants over on arrival: given up", ghostCancelled: "heard of an ended id: cancel sent",
	wasRefused: "held is heard", wasQueued: "queued is heard", turnGiven: "a turn begins", releases: "the lease is released",
	releasesOver: "a lease that is over is released", departs: "unlock sent", departsQueuesAgain: "unlock sent, to queue a fresh id",
	unlockAgain: "unlock sent again", departed: "unlock is answered", goneBeforeAnswer: "unlock unanswered until L must be gone",
	deadline: "deadline without a turn", deadlineInTurn: "deadline in a turn: the lease is lost", renews: "renew sent", renewed: "renewed is heard",
	learnsOfLoss: "lost is heard", recallHeard: "recall is heard", recallEarly: "recall is heard before the grant", recallByCount: "somebody waits, says a grant or renewal",
	nextHeard: "head arrives", cancelAgain: "cancel or unlock sent again", errandDone: "cancel or unlock is answered", confirmed: "the subscription is confirmed",
	noticesBreak: "the process sees its subscription broken", subscribesAgain: "subscribe sent again",
	topsUp: "renew sent before a turn", givesUpID: "the id is given up",
}
