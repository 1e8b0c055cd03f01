package master

// Mutant is a guard that is taken out of the model.
type Mutant uint8

// The mutants. Mutants says of each what finds it.
const (
	Whole                 Mutant = iota // nothing is taken out
	CountFromAnswer                     // the deadline is counted from when the answer came
	CountFromPush                       // that of a pushed grant from when it came
	CountFromRequestAhead               // that of a pushed grant from the newest request, answered or not
	NoWindow                            // a pushed grant gets its whole ttl
	NoLateCancel                        // a late answer for an id that was given up is ignored
	NoGhostCancel                       // so is a push for one
	SameIDAgain                         // unlock queues the id that it releases
	NoIDCheck                           // unlock deletes L whoever has it
	NoLookAtQ                           // a free L is given to who asks, whoever waits
	NoReserve                           // a grant does not note its stride in F
	SameStride                          // a repeat of lock answers with the same stride
	Recreate                            // renew makes L anew
	Revive                              // a grant that is heard of a tenure that ended begins it again
	ReviveByRenewal                     // a renewal that is answered after the deadline prolongs the lease
	BlindSurvey                         // the hand-over does not ask who listens
	TrustGrants                         // a waiter trusts to pushes alone, and never asks again
	NotHeldQueues                       // unlock queues the fresh id though L was not id
	FreshNotAsked                       // a fresh id that was not queued is not asked for
	TokensAnew                          // a repeated grant's tokens are taken as they come
	NoCancelWhileLeaving                // a lock that fails while its id is leaving is not cancelled
)

// Find is one mutant, and where it is found.
type Find struct {
	Mutant Mutant
	Guard  string // that is taken out
	Bounds Bounds
	Broken string // the invariant that fails
}

// Finds are the mutants, with the least bounds in which each is found.
func Finds() []Find {
	one := func(f func(*Bounds)) Bounds { // nobody looks at the time
		b := base("", f)
		b.Idle, b.Wait = 0, 0
		return b
	}
	timed := func(f func(*Bounds)) Bounds { return base("", f) }
	delays := one(func(b *Bounds) { b.Delay = 1 })
	doubles := one(func(b *Bounds) { b.Dup = 1 })
	freezes := one(func(b *Bounds) { b.Freeze = 1 })
	return []Find{
		{CountFromAnswer, "the deadline is counted from before the request", delays, brokenBelief},
		{CountFromPush, "the start of a pushed grant is a bound from below", delays, brokenBelief},
		{CountFromRequestAhead, "a request in flight does not count for that", delays, brokenBelief},
		{NoWindow, "a pushed grant lives for a claim window", freezes, brokenWindow},
		{NoLateCancel, "a late answer for an id that was given up is cancelled", one(func(b *Bounds) { b.GiveUp = true }), brokenL2},
		{NoGhostCancel, "an ended id that is heard of is cancelled", doubles, brokenL2},
		{NoCancelWhileLeaving, "so it is while its id is leaving", one(func(b *Bounds) { b.Crash = 1 }), brokenL2},
		{SameIDAgain, "the id to queue again is fresh", doubles, brokenBelief},
		{NoIDCheck, "unlock compares the id", doubles, brokenBelief},
		{NoLookAtQ, "a free name is given to nobody while others wait", freezes, broken[overtaken]},
		{NoReserve, "a grant reserves its stride", one(func(*Bounds) {}), broken[tokenFell]},
		{SameStride, "a repeat of lock gets a fresh stride", doubles, broken[tokenFell]},
		{Recreate, "renew never makes L anew", delays, brokenL2},
		{Revive, "a tenure that has ended is never revived", doubles, broken[tokenFell]},
		{ReviveByRenewal, "a lease that was over is not prolonged", delays, broken[revived]},
		{BlindSurvey, "a hand-over asks who listens", one(func(b *Bounds) { b.Crash = 1 }), broken[deadChosen]},
		{NotHeldQueues, "unlock queues nothing when L was not id", doubles, broken[overtaken]},
		{TokensAnew, "a token is given only above every token used", doubles, broken[tokenFell]},
		{TrustGrants, "a waiter looks again by the clock", timed(func(b *Bounds) { b.Lose = 1 }), broken[stuck]},
		{FreshNotAsked, "a fresh id that was not queued is asked for", timed(func(b *Bounds) { b.Delay = 1 }), broken[stuck]},
	}
}
