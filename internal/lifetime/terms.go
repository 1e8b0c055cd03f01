// Package lifetime decides when a tenure ends, and what must happen before: which ttl a renewal
// sets and when the next one is due, whether the next turn may begin, how long the name stays
// unavailable after a release, and how long the lock key is kept for work that is stopping.
//
// It is pure: each answer follows from its input and from what was noted before. Package machine
// sends the scripts. Rules 5, 8, 12, 13 and 16 of docs/protocol.md say why.
//
// [Terms] are those of a tenure, [Limits] those of one turn. A [Lifetime] has the state. Most turns have
// no limits, and use [Lifetime.Prolong], [Lifetime.BeforeTurn] and the deadline, [Lifetime.Ends].
package lifetime

import "time"

// Terms are those of a tenure. All its turns share them.
type Terms struct {
	TTL     time.Duration // how long the lock key lives after each grant and renewal
	NoRenew bool          // only Extend prolongs a turn, see Mutex.NoRenew
	Memory  time.Duration // how long Redis remembers its tokens; 0: as long as by default
}

// Limits are those of one turn, see the fields of Mutex. 0: there is none.
type Limits struct {
	MinHold time.Duration // no other client gets the name before that
	MaxHold time.Duration // the turn ends then
	Grace   time.Duration // how long the lock key is kept after MaxHold; 0: 2 s
}

// Cause is the reason for which a lease was lost.
type Cause string

// The causes.
const (
	Expired  Cause = "expired"
	Taken    Cause = "taken"
	Gone     Cause = "gone"
	Closed   Cause = "closed"
	MaxHold  Cause = "max hold"
	Revoked  Cause = "revoked"
	Stolen   Cause = "stolen"
	Exported Cause = "exported"
)
