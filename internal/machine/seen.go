package machine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// lastSeen is what the newest answer said about the holder. Most local names have none, and
// an answer is large.
type lastSeen struct {
	known    bool
	queued   bool          // the id that asked is in the queue
	holder   string        // the value of the lock key
	pttl     time.Duration // of the lock key; negative: no expiry
	waiting  int64         // ids in the queue, if the one that asked is not among them
	position int64         // in the queue, if it is; 0 is the head
	at       clock.Instant // when the answer came
}

func seenIn(a wire.Answer, now clock.Instant) lastSeen {
	return lastSeen{
		known: true, queued: a.Word == "queued", holder: a.Holder, pttl: a.PTTL,
		waiting: a.Waiting, position: a.Position, at: now,
	}
}

// Held is the error of a TryLock, from what is known here.
func (n *Name) Held(now clock.Instant) error {
	e := &Held{Name: n.Name, Waiters: n.waiters.n}
	if t := n.tenure; t != nil && t.phase >= holding {
		e.Owner, e.Remaining = n.Kind.Owner, max(0, t.Ends().Sub(now))
		if n.turn == nil && t.inMinHold(now) {
			e.Cooldown, e.Remaining = true, t.minHold.until.Sub(now)
		}
		return e
	}
	if n.seen.known {
		return n.heldBy(now)
	}
	return e
}

func (n *Name) heldBy(now clock.Instant) error {
	e := &Held{Name: n.Name, Waiters: int(n.seen.waiting), Remaining: n.seen.pttl}
	if id, ours := keyspace.ParseID(n.seen.holder); ours {
		e.Owner = id.Owner
	} else if e.Owner, e.Cooldown = keyspace.CooldownOwner(n.seen.holder); !e.Cooldown {
		e.Foreign = true
	}
	if n.seen.queued {
		e.Waiters = int(n.seen.position)
		e.Remaining = max(0, n.seen.pttl-now.Sub(n.seen.at))
	}
	return e
}
