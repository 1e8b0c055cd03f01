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

// node is what is known of one node.
type node struct {
	number   int
	usual    time.Duration // round trip, lately; 0: not known
	inflight int           // calls that have not come back
	spoke    clock.Instant // when it last answered, or was first asked of what it owes

	stale map[string]bool   // past ids that are being ended here, because it still had them
	owed  map[string]*Place // ids of lost tries that may yet reach it: it was silent

	silent atomic.Bool // it did not answer in time: nobody waits for it until it does
}

// asked notes that a call is sent to it.
func (n *node) asked(attempt time.Duration, now clock.Instant) {
	if n.inflight == 0 {
		n.spoke = max(n.spoke, now) // it owes nothing from before
	}
	if n.inflight++; n.inflight > MostCalls && now.Sub(n.spoke) > n.patience(attempt) {
		n.silent.Store(true)
	}
}

// returned notes the result of a call that was sent then.
func (n *node) returned(sent clock.Instant, err error, now clock.Instant) {
	n.inflight--
	if _, refused := wire.AsServerError(err); err != nil && !refused {
		n.silent.Store(true)
		return
	}
	n.silent.Store(false)
	n.spoke = now
	took := now.Sub(sent)
	if n.usual == 0 {
		n.usual = took
	}
	n.usual += (took - n.usual) / 8
}

// patience is how long a decision waits for the node: a few times its usual round trip. Whether
// a name is won never depends on it, only when a try is given up.
func (n *node) patience(attempt time.Duration) time.Duration {
	if n.usual == 0 {
		return min(attempt, 500*time.Millisecond)
	}
	return min(4*n.usual+25*time.Millisecond, attempt)
}

// owes notes an id that may have to be taken off it.
func (n *node) owes(id string, place *Place) {
	if n.owed == nil {
		n.owed = map[string]*Place{}
	}
	n.owed[id] = place
}
