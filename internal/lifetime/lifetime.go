package lifetime

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// Lifetime is the part of a tenure that decides when it ends. The engine's mutex protects it, except
// the deadline.
type Lifetime struct {
	Terms       *Terms
	deadline    atomic.Int64  // clock.Instant at which the holder must stop
	Expiry      clock.Instant // when the lock key has expired, if each script ran before its answer came, and one without an answer when it was sent
	TTL         time.Duration // what the script set last: a claim window, the ttl of the terms, or that of Extend
	RenewAt     clock.Instant // when the next renewal or check is due
	Failures    int           // renewals in a row that were not answered, or by too few replicas
	VerifySince clock.Instant // a request sent since then must show that the name is ours, see Verified; 0: no need
	LingerUntil clock.Instant // until when it is kept though it is idle; 0: it is not idle
	CoolUntil   clock.Instant // no other client may get the name before, see MinHold; 0: no turn asked for that

	keptUntil    clock.Instant   // the lock key lives until then, as Redis said last
	longest      clock.Instant   // when the lock key has certainly expired, if its ttl is the longest MinTTL sent
	required     []clock.Instant // the ends of the MinHold of each lease
	plainRenewal bool            // a renewal without MinTTL was sent: if it arrives late, it shortens the ttl of the lock key
	ChecksOnly   bool            // its turn has NoRenew: it is not renewed but checked, if there is a reason
}

// Ends returns the holder's deadline, without MaxHold. It needs no mutex.
func (l *Lifetime) Ends() clock.Instant { return clock.Instant(l.deadline.Load()) }

// GoneBy returns when the lock key has certainly expired, unless it is renewed.
func (l *Lifetime) GoneBy() clock.Instant { return max(l.Expiry, l.longest) }

// Slack returns the share of the ttl that is left. It is negative after the deadline.
func (l *Lifetime) Slack(now clock.Instant) float64 {
	return float64(l.Ends().Sub(now)) / float64(max(l.TTL, 1))
}

// Step is what a tenure needs before its next turn.
type Step int

// The steps.
const (
	GiveTurn Step = iota // nothing more: the turn begins
	TopUp                // a renewal, once: a lease must not begin when it is nearly over
	Renew                // a renewal that sets the ttl which the turn asks for
	Release              // a new tenure: this one cannot have the turn
)

// BeforeTurn returns what is needed before a turn with these limits begins.
//
// The lock key must not expire before MinHold has passed, or a crash would cut it short. So the turn
// begins only after Redis has set such a ttl, and only if no request of this tenure is under way
// that could shorten it. A turn with NoRenew begins with the whole ttl, and a push gives only a claim
// window.
func (l *Lifetime) BeforeTurn(next Limits, now clock.Instant) Step {
	switch {
	case l.CoolUntil > now, next.MinHold > 0 && l.plainRenewal:
		return Release
	case next.MinHold > 0 && now.Add(next.MinHold) > l.keptUntil, l.Terms.NoRenew && l.TTL < l.Terms.TTL:
		return Renew
	case l.Ends().Sub(now) < l.TTL/3:
		return TopUp
	}
	return GiveTurn
}

// StartTurn notes that a turn begins that has limits or NoRenew. It returns when MaxHold ends it, or
// clock.Never, and its Grace.
func (l *Lifetime) StartTurn(asked Limits, now clock.Instant) (until clock.Instant, grace time.Duration) {
	if l.Terms.NoRenew {
		l.ChecksOnly = true
		l.Settle()
	}
	if asked.MinHold > 0 {
		l.Require(now.Add(asked.MinHold))
	}
	if asked.MaxHold == 0 {
		return clock.Never, 0
	}
	return now.Add(asked.MaxHold), cmp.Or(asked.Grace, 2*time.Second)
}

// Require notes that no other client may get the name before until. The latest counts. It reports
// whether the lock key lives that long. If it does not, renew.
func (l *Lifetime) Require(until clock.Instant) (kept bool) {
	l.required = append(l.required, until)
	l.CoolUntil = max(l.CoolUntil, until)
	return until <= l.keptUntil
}

// Drop takes one Require back.
func (l *Lifetime) Drop(until clock.Instant) {
	if i := slices.Index(l.required, until); i >= 0 {
		l.required = slices.Delete(l.required, i, i+1)
		l.CoolUntil = slices.Max(append(l.required, 0))
	}
}

// Waive takes every Require back.
func (l *Lifetime) Waive() { l.CoolUntil, l.required = 0, nil }

// UnlockAfter returns how long after the end of a turn the name is unlocked, although its lease was
// not released. ok is false if only Release does that, because work may still be stopping.
func (l *Lifetime) UnlockAfter(why Cause, grace time.Duration) (wait time.Duration, ok bool) {
	switch {
	case why == MaxHold:
		return grace, true
	case why == Revoked && l.Terms.NoRenew: // Extend may have set a long ttl
		return l.Terms.TTL, true
	}
	return 0, why == Expired && l.Terms.NoRenew // the lock key may live on, see Extend
}

// LongestRenewal is how long one renewal may take at most.
const LongestRenewal = 3 * time.Second

// Renewal is what a renewal asks for, beside the ttl of the terms. 0: nothing.
type Renewal struct {
	MinTTL time.Duration // the lock key lives that long from the answer at least
	Extend time.Duration // the ttl of the holder, see Lease.Extend
}

// RequiredTTL returns the MinTTL of a renewal: what is left of MinHold, or the MinHold of the next
// turn, if none is out. With NoRenew it is at least the ttl of the terms, so that a late renewal does
// not shorten that of Extend.
func (l *Lifetime) RequiredTTL(next Limits, now clock.Instant) (minTTL time.Duration) {
	if l.CoolUntil > now {
		minTTL = l.CoolUntil.Sub(now)
	} else if !l.plainRenewal {
		minTTL = next.MinHold
	}
	if l.Terms.NoRenew {
		minTTL = max(minTTL, l.Terms.TTL)
	}
	return minTTL
}

// Sent notes a renewal that goes out.
func (l *Lifetime) Sent(r Renewal, now clock.Instant) {
	l.Expiry = max(l.Expiry, now.Add(l.Terms.TTL))
	l.longest = max(l.longest, now.Add(r.MinTTL))
	l.plainRenewal = l.plainRenewal || r.MinTTL == 0
}

// Renewed moves the deadline after an answered renewal. With NoRenew only Extend moves it, and the
// renewal before the turn.
//
// MinTTL counts from the answer. That is too much by less than a round trip, and the next renewal
// corrects it.
func (l *Lifetime) Renewed(r Renewal, sent, now clock.Instant, jitter func(time.Duration) time.Duration) {
	switch {
	case !l.Terms.NoRenew:
		l.Prolong(sent, l.Terms.TTL, jitter)
	case !l.ChecksOnly || r.Extend > 0:
		due := l.RenewAt
		l.Prolong(sent, cmp.Or(r.Extend, l.Terms.TTL), jitter)
		l.RenewAt = min(l.RenewAt, due) // Extend must not delay a check
		l.Verified(sent)
	}
	l.keptUntil = max(sent.Add(l.Terms.TTL), now.Add(r.MinTTL))
	if l.keptUntil < l.CoolUntil { // it was made before a lease that shares the turn asked for MinHold, and has cut that short
		l.RenewAt = now
	}
}

// Prolong moves the deadline: Redis confirmed a ttl that counts from start. It never moves it back.
// jitter returns a random duration below the given one.
func (l *Lifetime) Prolong(start clock.Instant, ttl time.Duration, jitter func(time.Duration) time.Duration) {
	d := clock.Deadline(start, ttl)
	if d <= l.Ends() {
		return
	}
	l.deadline.Store(int64(d))
	l.TTL, l.Failures = ttl, 0
	l.keptUntil = max(l.keptUntil, start.Add(ttl))
	l.RenewAt = l.aligned(start.Add(ttl/3 - jitter(ttl/20)))
}

// Try sets the time of the next renewal, because one is sent now: a sixth of the ttl later, so two
// may fail before the deadline. It reports whether a check is to be sent instead. With NoRenew that
// is repeated until its answer, and at least every LongestRenewal, because Extend may have set a
// long ttl.
func (l *Lifetime) Try(now clock.Instant, jitter func(time.Duration) time.Duration) (check bool) {
	pause := l.pause()
	l.RenewAt = l.aligned(now.Add(pause - jitter(pause/10)))
	if l.Terms.NoRenew {
		l.VerifySince = now
	}
	return l.ChecksOnly
}

func (l *Lifetime) pause() time.Duration {
	if l.ChecksOnly {
		return min(l.TTL/6, LongestRenewal)
	}
	return l.TTL / 6
}

// Failed notes that a renewal failed, and sets the time of the next one. The pause grows with each
// failure.
func (l *Lifetime) Failed(now clock.Instant, jitter func(time.Duration) time.Duration) {
	l.Failures++
	backoff := min(5*time.Millisecond<<min(l.Failures, 20), l.pause())
	l.RenewAt = min(l.RenewAt, now.Add(backoff/2+jitter(backoff)))
}

// Patience returns how long one renewal may take: 50 ms to LongestRenewal.
func (l *Lifetime) Patience(now clock.Instant) time.Duration {
	return min(max(min(l.Ends().Sub(now), l.TTL/2), 50*time.Millisecond), LongestRenewal)
}

// Verified notes that Redis said in the answer to a request that the name is ours. A request sent
// before VerifySince proves nothing.
func (l *Lifetime) Verified(sent clock.Instant) {
	if sent >= l.VerifySince {
		l.Failures, l.VerifySince = 0, 0
	}
	l.Settle()
}

// Settle ends the renewals of a turn with NoRenew that needs no check.
func (l *Lifetime) Settle() {
	if l.ChecksOnly && l.Failures == 0 && l.VerifySince == 0 {
		l.RenewAt = clock.Never
	}
}

// aligned rounds a time down to a multiple of ttl/64, at most 100 ms, so that renewals share
// pipelines. Thousands of single renewals a second cost several times as much, here and in Redis.
func (l *Lifetime) aligned(when clock.Instant) clock.Instant {
	return when - when%clock.Instant(max(1, min(l.TTL/64, 100*time.Millisecond)))
}
