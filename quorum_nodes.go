package holdfast

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// quorum is how a tenure is won, renewed and ended on several masters. Local
// names, turns, deadlines and the schedule are those of one master; only the requests and
// the nodes that must answer differ. docs/quorum.md has the protocol. Guarded
// by the core's mutex.
type quorum struct {
	p           *process
	id          string
	need        int // a majority
	nodes       []*node
	newestToken int64 // newest token seen

	yields map[string]clock.Instant // by name: until when it is left to a waiter elsewhere
}

// node is one master of a quorum. Guarded by the core's mutex, except silent.
type node struct {
	number     int
	usualTrip  time.Duration // round trip, lately; 0: not known
	inflight   int           // requests that have not come back
	lastAnswer clock.Instant // when it last answered, or was first asked of what it owes

	staleIDs map[string]bool       // ids that are being ended here, because they were seen
	owed     map[string]*localName // ids of lost ballots that may yet reach it: it was silent

	silent atomic.Bool // it did not answer in time: nobody waits for it until it does
}

// owes notes an id that may have to be taken off it.
func (n *node) owes(id string, local *localName) {
	if n.owed == nil {
		n.owed = map[string]*localName{}
	}
	n.owed[id] = local
}

// returned notes the result of a request to the node.
func (n *node) returned(r *request, err error, now clock.Instant) {
	n.inflight--
	if _, refused := wire.AsServerError(err); err != nil && !refused {
		n.silent.Store(true)
		return
	}
	n.silent.Store(false)
	n.lastAnswer = now
	took := now.Sub(r.sent)
	if n.usualTrip == 0 {
		n.usualTrip = took
	}
	n.usualTrip += (took - n.usualTrip) / 8
}

// patience is how long a decision waits for the node: a few times its usual
// round trip. Whether a lock is won never depends on it, only when a try is
// given up.
func (n *node) patience(o *settings) time.Duration {
	if n.usualTrip == 0 {
		return min(o.attempt(), 500*time.Millisecond)
	}
	return min(4*n.usualTrip+25*time.Millisecond, o.attempt())
}

// nodeKeys are the keys of a name on each node, as scripts want them.
type nodeKeys struct {
	lock   [4]string // lock, fence, marker and wanted; most scripts take fewer
	unlock [2]string // lock and wanted
}

func (n *localName) onNodes() *nodeKeys {
	if n.nodeKeys == nil {
		lock, wanted := n.keys.Lock(), n.keys.Wanted()
		n.nodeKeys = &nodeKeys{[4]string{lock, n.keys.Fence(), keyspace.Marker, wanted}, [2]string{lock, wanted}}
	}
	return n.nodeKeys
}

// send notes a request to one node; see core.send.
func (q *quorum) send(n *node, s *driver.Script, local *localName, t *tenure, now clock.Instant, args []string, answered func(*request, wire.Answer, error, clock.Instant)) *request {
	keys := local.onNodes().lock[:3]
	switch s {
	case script.QuorumLock:
		keys = local.nodeKeys.lock[:]
	case script.QuorumRaise:
		keys = keys[:2]
	case script.QuorumUnlock:
		keys = local.nodeKeys.unlock[:]
	}
	r := &request{
		call: driver.Call{Script: s, Keys: keys, Args: args}, local: local, tenure: t, node: n,
		sent: now, attempt: q.p.attempt(), onAnswer: answered,
	}
	if n.inflight == 0 {
		n.lastAnswer = max(n.lastAnswer, now) // it owes nothing from before
	}
	if n.inflight++; n.inflight > maxHanging && now.Sub(n.lastAnswer) > n.patience(&q.p.settings) {
		n.silent.Store(true)
	}
	q.p.host.send(r)
	return r
}

// awaited is how many answers Close still waits for: until a majority owes none, and each node
// that owes one had its patience.
func (q *quorum) awaited(waited time.Duration) int {
	quiet, slow := 0, 0
	for _, n := range q.nodes {
		switch {
		case n.inflight == 0:
			quiet++
		case !n.silent.Load() && waited < n.patience(&q.p.settings):
			slow++
		}
	}
	return max(slow, q.need-quiet)
}

// cleanUp takes an id off all nodes, in the background, until it has expired; held: the name
// was ours by it. It is undone when that has ended on a majority: done, or refused for good.
func (q *quorum) cleanUp(id string, local *localName, held bool, now, until clock.Instant) *cleanupGroup {
	until = min(until, now.Add(local.ttl())) // there is no queue in which it could stand longer
	u := &cleanupGroup{q.p, q.need}
	args := []string{id}
	if held {
		args = q.unlockArgs(id)
	}
	for _, n := range q.nodes {
		q.unlockOn(n, args, local, now, until).group = u
	}
	return u
}

// cleanUpOn takes an id that was not the holder's off one node.
func (q *quorum) cleanUpOn(n *node, id string, local *localName, now, until clock.Instant) {
	q.unlockOn(n, []string{id}, local, now, until)
}

func (q *quorum) unlockOn(n *node, args []string, local *localName, now, until clock.Instant) *cleanup {
	return q.p.startCleanup(&cleanup{call: driver.Call{Script: script.QuorumUnlock, Keys: local.onNodes().unlock[:], Args: args}, local: local, node: n, until: until}, now)
}

// cancelStaleID is process.cancelStaleID for one node: others need not have the id.
func (q *quorum) cancelStaleID(n *node, id string, now clock.Instant) {
	local := q.p.nameOfID(id)
	if local == nil || n.staleIDs[id] {
		return
	}
	if n.staleIDs == nil {
		n.staleIDs = map[string]bool{}
	}
	n.staleIDs[id] = true
	q.cleanUpOn(n, id, local, now, now.Add(local.ttl()))
}

// maxHanging is how many calls may hang in one driver: then no more are begun.
const maxHanging = 64

var errSilent = errors.New("the node does not answer")
