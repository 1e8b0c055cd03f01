package ballot

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// ErrNotSent is the error of a call that was not sent, because too many calls to its node have
// no answer.
var ErrNotSent = errors.New("the node does not answer")

// MostCalls is how many calls may hang in a silent node before more are not sent.
const MostCalls = 64

// node is the state of one node.
type node struct {
	number     int
	roundTrip  time.Duration // moving average; 0: not known
	inflight   int           // calls that have not come back
	lastAnswer clock.Instant // when it last answered; or later, when the oldest call without an answer was sent

	stale map[string]bool   // ended ids that are being removed from the node, because it still had them
	owed  map[string]*Place // ids of lost tries whose lock may reach it late, because it was silent

	silent atomic.Bool // it did not answer in time: no try waits for it until it answers
}

// noteSent notes that a call is sent to it.
func (n *node) noteSent(attempt time.Duration, now clock.Instant) {
	if n.inflight == 0 {
		n.lastAnswer = max(n.lastAnswer, now) // no earlier call waits for its answer
	}
	if n.inflight++; n.inflight > MostCalls && now.Sub(n.lastAnswer) > n.patience(attempt) {
		n.silent.Store(true)
	}
}

// noteResult notes the result of a call that was sent at sent.
func (n *node) noteResult(sent clock.Instant, err error, now clock.Instant) {
	n.inflight--
	if _, refused := wire.AsServerError(err); err != nil && !refused {
		n.silent.Store(true)
		return
	}
	n.silent.Store(false)
	n.lastAnswer = now
	took := now.Sub(sent)
	if n.roundTrip == 0 {
		n.roundTrip = took
	}
	n.roundTrip += (took - n.roundTrip) / 8
}

// patience returns how long a try waits for the node: a few times its usual round trip. It decides
// when a try is lost, never whether a try is won.
func (n *node) patience(attempt time.Duration) time.Duration {
	if n.roundTrip == 0 {
		return min(attempt, 500*time.Millisecond)
	}
	return min(4*n.roundTrip+25*time.Millisecond, attempt)
}

// owe notes an id that may have to be removed from the node.
func (n *node) owe(id string, place *Place) {
	if n.owed == nil {
		n.owed = map[string]*Place{}
	}
	n.owed[id] = place
}
