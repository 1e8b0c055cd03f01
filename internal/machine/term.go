package machine

import (
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/election"
)

// Announces reports whether the turn is a term, and the server pushes what it announces.
func (u *Turn) Announces() bool { return u.Local.Kind.Term != nil && u.Local.P.Queue }

// announceEvery is how often a term is announced: a failover may lose the term key.
const announceEvery = 5 * time.Minute

// Elected announces a term, now and again.
func (p *Process) Elected(u *Turn, now clock.Instant) *Removal {
	term := u.Local.Kind.Term
	announced := u.Local.announce(u, now)
	term.nextAnnouncement = clock.Timer{Fire: u.announceOnceMore}
	p.Schedule.Set(&term.nextAnnouncement, now.Add(announceEvery), now)
	return announced
}

func (u *Turn) announceOnceMore(now clock.Instant) {
	p, term := u.Local.P, u.Local.Kind.Term
	if !p.Closed && u.Ended.Load() == nil {
		u.Local.announce(u, now)
		p.Schedule.Set(&term.nextAnnouncement, now.Add(announceEvery), now)
	}
}

// Resigned notifies observers that a term is over, unless a new leader has announced
// its own.
func (p *Process) Resigned(u *Turn, now clock.Instant) {
	if term := u.Local.Kind.Term; term.nextAnnouncement.Fire != nil {
		p.Schedule.Stop(&term.nextAnnouncement)
	}
	if !p.Closed {
		u.Local.announce(u, now)
	}
}

// Proclaim changes the value of a term. The returned call tells Redis.
func (p *Process) Proclaim(u *Turn, value string) (driver.Call, *Ending) {
	if e := u.Ended.Load(); e != nil {
		return driver.Call{}, e
	}
	term := u.Local.Kind.Term
	term.proclaims++
	term.proclaimed = value
	return u.Local.announcement(u), nil
}

// AnnounceAgain goes on in the background where that call failed.
func (p *Process) AnnounceAgain(u *Turn, now clock.Instant) {
	if !p.Closed && u.Ended.Load() == nil {
		u.Local.announce(u, now)
	}
}

// announce starts a cleanup. If observers miss it, they notice the change when they
// poll.
func (n *Name) announce(u *Turn, now clock.Instant) *Removal {
	return n.P.startCleanup(&cleanup{call: n.announcement(u), local: n, until: now.Add(n.P.Ttl)}, now).awaited()
}

func (n *Name) announcement(u *Turn) driver.Call {
	term := n.Kind.Term
	return election.Announcement(n.Keys, u.Tenure.Id, u.Token, n.shard != "", term.proclaims, term.proclaimed)
}
