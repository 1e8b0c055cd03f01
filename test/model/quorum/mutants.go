package quorum

// Mutant is a guard that is taken out of the model.
type Mutant uint8

// The mutants. Finds says of each what finds it.
const (
	Whole           Mutant = iota // nothing is taken out
	NoRaise                       // who gave less than T counts
	RaiseUnanswered               // who was asked to raise counts at once
	RaiseAnybody                  // raise does not look whose L is
	LeastToken                    // T is the least token of the majority
	OneID                         // an id serves all tries of a client
	VoteAnew                      // a repeat of lock gives another token
	NoClamp                       // proposals are taken as they come
	NoGuard                       // a restart is not noticed
	NoMarker                      // a node without a marker votes
	CountFromAnswer               // the lease is counted from when it was won
	MinorityRenews                // one less than a majority renews
	RenewAnywhere                 // renew does not look whose node it is
	ReplaceAtOnce                 // new members are marked though no majority of the old ones is taken out
	ReplaceNoWait                 // new members vote at once
)

// Find is one mutant, and where it is found.
type Find struct {
	Mutant Mutant
	Guard  string // that is taken out
	Bounds Bounds
	Broken string // the invariant that fails
}

// Finds are the mutants, with small bounds in which each is found.
func Finds() []Find {
	one := func(f func(*Bounds)) Bounds { return base("", f) }
	loose := one(func(b *Bounds) { b.Loose, b.Ahead = true, 3 })
	ahead := one(func(b *Bounds) { b.Ahead = 3 })
	forgets := one(func(b *Bounds) { b.clocks(); b.Restart, b.Forget = 1, true })
	renews := one(func(b *Bounds) { b.Renew, b.Repair, b.TTL, b.Lean = 1, true, 2, true })
	replaced := one(func(b *Bounds) { b.replaces() })
	return []Find{
		{NoRaise, "T is written back to who gave less", ahead, brokenS2},
		{RaiseUnanswered, "who was asked to raise counts when it has", ahead, brokenS2},
		{RaiseAnybody, "raise looks whose L is", loose, brokenTwice},
		{LeastToken, "T is the largest token of the majority", ahead, brokenS2},
		{OneID, "an id serves one try", one(func(b *Bounds) { b.Client = []uint8{0, 0, 1} }), brokenS2},
		{NoClamp, "proposals are clamped", one(func(b *Bounds) { b.clocks(); b.Far, b.Restart, b.Forget = true, 1, true }), brokenS2},
		{NoGuard, "a node that was restarted sits out", forgets, brokenS1},
		{NoMarker, "a node without a marker gives no vote", one(func(b *Bounds) { b.clocks(); b.Restart, b.Empty = 1, true }), brokenS1},
		{CountFromAnswer, "the lease begins before the first node is asked", one(func(*Bounds) {}), brokenS1},
		{MinorityRenews, "a majority renews, and no less", renews, brokenS1},
		{RenewAnywhere, "only nodes of the quorum renew", one(func(b *Bounds) { b.replaces(); b.Renew, b.TTL = 1, 2 }), brokenS1},
		{ReplaceAtOnce, "a majority of the old members is taken out first", replaced, brokenS1},
		{ReplaceNoWait, "new members sit out until old leases are over", replaced, brokenS1},
	}
}
