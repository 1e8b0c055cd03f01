package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/election"
)

// announces reports whether the turn is a term, and the server pushes what it announces.
func (u *turn) announces() bool { return u.local.kind.term != nil && u.local.p.queue }

// announceEvery is how often a term is announced: a failover may lose the term key.
const announceEvery = 5 * time.Minute

// elected announces a term, now and again.
func (p *process) elected(u *turn, now clock.Instant) *removal {
	term := u.local.kind.term
	announced := u.local.announce(u, now)
	term.nextAnnouncement = clock.Timer{Fire: u.announceOnceMore}
	p.schedule.Set(&term.nextAnnouncement, now.Add(announceEvery), now)
	return announced
}

func (u *turn) announceOnceMore(now clock.Instant) {
	p, term := u.local.p, u.local.kind.term
	if !p.closed && u.ended.Load() == nil {
		u.local.announce(u, now)
		p.schedule.Set(&term.nextAnnouncement, now.Add(announceEvery), now)
	}
}

// resigned notifies observers that a term is over, unless a new leader has announced
// its own.
func (p *process) resigned(u *turn, now clock.Instant) {
	if term := u.local.kind.term; term.nextAnnouncement.Fire != nil {
		p.schedule.Stop(&term.nextAnnouncement)
	}
	if !p.closed {
		u.local.announce(u, now)
	}
}

// proclaim changes the value of a term. The returned call tells Redis.
func (p *process) proclaim(u *turn, value string) (driver.Call, *ending) {
	if e := u.ended.Load(); e != nil {
		return driver.Call{}, e
	}
	term := u.local.kind.term
	term.proclaims++
	term.proclaimed = value
	return u.local.announcement(u), nil
}

// announceAgain goes on in the background where that call failed.
func (p *process) announceAgain(u *turn, now clock.Instant) {
	if !p.closed && u.ended.Load() == nil {
		u.local.announce(u, now)
	}
}

// announce starts a cleanup. If observers miss it, they notice the change when they
// poll.
func (n *localName) announce(u *turn, now clock.Instant) *removal {
	return n.p.startCleanup(&cleanup{call: n.announcement(u), local: n, until: now.Add(n.p.ttl)}, now).awaited()
}

func (n *localName) announcement(u *turn) driver.Call {
	term := n.kind.term
	return election.Announcement(n.keys, u.tenure.id, u.token, n.shard != "", term.proclaims, term.proclaimed)
}
