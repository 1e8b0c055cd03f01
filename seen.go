package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// lastSeen is what the newest answer said of who has a name. Most lines have none, and an
// answer is large.
type lastSeen struct {
	known    bool
	queued   bool          // who asked stands in line
	holder   string        // the value of L
	pttl     time.Duration // of L; negative: no expiry
	waiting  int64         // ids in Q, if who asked is not one of them
	position int64         // in the line, if it is; 0 is the head
	at       clock.Instant // when the answer came
}

func seenIn(a wire.Answer, now clock.Instant) lastSeen {
	return lastSeen{
		known: true, queued: a.Word == "queued", holder: a.Holder, pttl: a.PTTL,
		waiting: a.Waiting, position: a.Position, at: now,
	}
}

// held is what a TryLock is told, from what is known here.
func (l *line) held(now clock.Instant) error {
	e := &HeldError{Name: l.name, Waiters: l.callers.n}
	if t := l.tenure; t != nil && t.phase >= holding {
		e.Owner, e.Remaining = l.owner(), max(0, t.ends().Sub(now))
		if l.turn == nil && t.rests(now) {
			e.Cooldown, e.Remaining = true, t.minHold.until.Sub(now)
		}
		return e
	}
	if l.seen.known {
		return l.heldBy(now)
	}
	return e
}

// held is what a try under the turn's own lease gets: it waits for nobody, so it
// is no deadlock.
func (u *turn) held() error {
	c := u.line.c
	c.mu.Lock()
	defer c.unlock()
	return u.line.held(c.clock.Now())
}

func (l *line) heldBy(now clock.Instant) error {
	e := &HeldError{Name: l.name, Waiters: int(l.seen.waiting), Remaining: l.seen.pttl}
	if id, ours := keyspace.ParseID(l.seen.holder); ours {
		e.Owner = id.Owner
	} else if e.Owner, e.Cooldown = keyspace.CooldownOwner(l.seen.holder); !e.Cooldown {
		e.Foreign = true
	}
	if l.seen.queued {
		e.Waiters = int(l.seen.position)
		e.Remaining = max(0, l.seen.pttl-now.Sub(l.seen.at))
	}
	return e
}
