package quorum

// base is the least of bounds: two clients with a try each, on three nodes. A
// lease lasts a tick. Clocks stand still where no node forgets: then none is
// needed.
func base(name string, change func(*Bounds)) Bounds {
	b := Bounds{Name: name, Nodes: 3, Client: []uint8{0, 1}, TTL: 1, SitOut: 1, Clamp: 1, Turns: 1}
	change(&b)
	return b
}

// clocks is for bounds in which nodes forget: a node that sat out gives tokens
// from its clock. A tick is as many tokens as keep those above all before.
func (b *Bounds) clocks() { b.Rate, b.Horizon = 6, 2 }

func (b *Bounds) replaces() {
	b.Lean = true
	b.Nodes, b.Replace, b.Wants = 5, true, []uint8{oldMark, newMark}
}

// Small are the bounds of each test run.
func Small() []Bounds {
	return []Bounds{
		base("two tries", func(b *Bounds) { b.TTL = 2 }),
		base("clocks apart, two turns", func(b *Bounds) { b.Ahead, b.Turns = 3, 2 }),
		base("a client's clock far ahead", func(b *Bounds) { b.Far = true }),
		base("a renewal and a repair", func(b *Bounds) { b.Renew, b.Repair, b.Lean = 1, true, true }),
		base("L ends at any time", func(b *Bounds) { b.Loose, b.Ahead = true, 3 }),
		base("a lock runs twice", func(b *Bounds) { b.Dup = 1 }),
		base("a node restarts with its data", func(b *Bounds) { b.Restart, b.Keep = 1, true }),
		base("a node restarts and forgets", func(b *Bounds) { b.clocks(); b.Restart, b.Forget, b.Lean = 1, true, true }),
		base("a node restarts empty", func(b *Bounds) { b.clocks(); b.Restart, b.Empty = 1, true }),
		base("the quorum is replaced", func(b *Bounds) { b.replaces() }),
	}
}

// Large are the bounds of "make model".
func Large() []Bounds {
	return []Bounds{
		base("two tries, clocks apart", func(b *Bounds) { b.TTL, b.Ahead, b.Turns = 2, 3, 2 }),
		base("a node restarts and forgets", func(b *Bounds) { b.clocks(); b.Restart, b.Forget = 1, true }),
		base("a renewal and a repair, longer", func(b *Bounds) { b.Renew, b.Repair, b.TTL, b.Lean = 1, true, 2, true }),
		base("L ends at any time, a lock runs twice", func(b *Bounds) { b.Loose, b.Ahead, b.Dup = true, 3, 1 }),
		base("three tries of two clients", func(b *Bounds) { b.Client = []uint8{0, 1, 0}; b.Lean = true }),
		base("five nodes", func(b *Bounds) { b.Nodes, b.Lean = 5, true }),
	}
}
