package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// On a quorum nobody hands a name over: a waiter polls. So a process that has released a
// name has to leave it alone until the waiters of other processes have polled once, or it
// would take it again before they come. A waiter that finds the name held marks it as
// wanted for as long as it takes to come back; the release learns how long that still
// is, and puts a mark behind that one, for the process comes back as well. A name that
// nobody wants costs its holder no pause. A mark is a hint: lost, late or doubled it makes
// a caller wait for less, or for protocol.MaxComeBack more, once.

// The pause of a waiter between two polls.
const (
	minPause = 25 * time.Millisecond
	maxPause = 100 * time.Millisecond
)

// spread is a random pause behind a mark.
const spread = 10 * time.Millisecond

// pause is how long a waiter that found the name held waits before it polls again.
func (q *quorum) pause() time.Duration {
	return minPause + q.p.jitter(maxPause-minPause)
}

// A poll's round trip, as far as marks count on it. The answers of the slowest node that
// is not silent may have to be waited for.
const (
	tripUnknown = 50 * time.Millisecond
	maxTrip     = (protocol.MaxComeBack - maxPause - minPause) / 2
)

// afterPoll is the time within which the poll that follows one which is sent now reaches
// the nodes: what is left of this one's round trip, the pause, and the way there.
func (q *quorum) afterPoll() time.Duration { return maxPause + minPause + q.twoTrips() }

// unlockArgs are those of the unlock of an id that held the name: this Client surely polls
// that long after the end of a mark that it learned of.
func (q *quorum) unlockArgs(id string) []string {
	return []string{id, wire.Millis(spread + q.twoTrips())}
}

// twoTrips is twice the usual round trip to the slowest node that is not silent.
func (q *quorum) twoTrips() time.Duration {
	slowest := time.Duration(0)
	for _, n := range q.nodes {
		switch {
		case n.silent.Load():
		case n.usualTrip == 0:
			slowest = max(slowest, tripUnknown)
		default:
			slowest = max(slowest, n.usualTrip)
		}
	}
	return 2 * min(slowest, maxTrip)
}

// yield notes that a waiter elsewhere comes for a name that was given back here.
func (q *quorum) yield(n *localName, a wire.Answer, now clock.Instant) {
	if a.PTTL <= 0 {
		return
	}
	q.yieldName(n.name, now.Add(min(a.PTTL, protocol.MaxComeBack)), now)
}

// noteWanted does for a holder of this Client what the mark does for those of others: a Client does
// not pause for its own.
func (q *quorum) noteWanted(n *localName, holder string, now clock.Instant) {
	if t := q.p.tenures[holder]; t != nil && t.local != n && n.waiters.anyBlocking() {
		t.wantedUntil = now.Add(q.afterPoll())
	}
}

// yieldName lets no new waiter of this Client ask for a name before until.
func (q *quorum) yieldName(name string, until, now clock.Instant) {
	until = until.Add(q.p.jitter(spread)) // others, too, may have paused for this mark
	if until <= q.yields[name] {
		return
	}
	if q.yields == nil {
		q.yields = map[string]clock.Instant{}
	}
	q.yields[name] = until
	q.p.later(until, now, func(now clock.Instant) {
		if q.yields[name] <= now {
			delete(q.yields, name)
		}
	})
}

// yieldsUntil is until when a name is left to a waiter elsewhere; 0: it is not, or this is
// no quorum.
func (q *quorum) yieldsUntil(name string) clock.Instant {
	if q == nil {
		return 0
	}
	return q.yields[name]
}
