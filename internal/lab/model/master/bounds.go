package master

// Bounds say how large the model is, and which faults it plays. All times are
// in ticks.
type Bounds struct {
	Name    string
	Procs   int // processes
	Callers int // that each brings, in all its life; 0: however many
	Line    int // of which so many stand in its line at once
	Net     int // messages under way at once
	TTL     int8
	Window  int8 // the claim window
	Stride  int8 // tokens for each grant

	// Faults, counted over a whole history.
	Lose   uint8 // messages that never arrive
	Delay  uint8 // requests that their sender gives up, and that run, or are answered, all the same
	Dup    uint8 // requests and pushes that arrive twice
	Crash  uint8 // processes that die
	Freeze uint8 // processes that stand still for a while, in timed bounds; else everybody may anyway
	Break  uint8 // subscriptions that the server drops
	Evict  uint8 // times that L is deleted by somebody else

	GiveUp bool // callers may give up

	// Timed: nothing that can happen is put off for longer than Hop ticks, but for
	// faults. Else everything may take however long it likes.
	Timed bool
	Hop   int8 // ticks that a message takes at most
	RTO   int8 // ticks after which a request counts as not answered
	Hold  int8 // ticks that a turn lasts at most
	Wait  int8 // process 0 gets its turn within so many
	Idle  int8 // somebody works again within so many
}

// base is the least of bounds: two processes whose messages arrive within the
// tick unless something fails, and each wants the name twice.
func base(name string, change func(*Bounds)) Bounds {
	b := Bounds{Name: name, Procs: 2, Callers: 2, Line: 1, Net: 4, TTL: 2, Window: 1, Stride: 1, Timed: true, RTO: 1, Hold: 1}
	change(&b)
	b.state()
	return b
}

// state sets the times that are promised. A holder that dies or freezes costs
// what is left of its L, a waiter that does one claim window, a lost answer the
// time until it is noticed, a ghost (of a late or doubled lock) a ttl, and whoever
// comes to it looks within a tick. A turn is waited for as long as nobody works,
// and for the turns of those in front.
func (b *Bounds) state() {
	faults := func(n ...uint8) (sum int8) {
		for _, k := range n {
			sum += int8(k)
		}
		return sum
	}
	b.Idle = b.TTL + 1 + b.Window*faults(b.Crash, b.Freeze) + b.RTO*faults(b.Lose, b.Delay) + b.TTL*faults(b.Dup, b.Delay)
	b.Wait = b.Idle + int8(b.Procs)*(b.Hold+1)
}

// Small are the bounds of each test run.
func Small() []Bounds {
	once := func(name string, change func(*Bounds)) Bounds {
		b := base(name, change)
		b.Callers = 1
		if b.TTL > 2 { // nobody looks at the time there: it takes too many states
			b.Idle, b.Wait = 0, 0
		}
		return b
	}
	return []Bounds{
		base("two callers each", func(b *Bounds) { b.Line = 2 }),
		base("a crash", func(b *Bounds) { b.Crash = 1 }),
		once("two messages lost", func(b *Bounds) { b.Lose = 2 }),
		once("a message late", func(b *Bounds) { b.Delay = 1 }),
		once("two messages doubled", func(b *Bounds) { b.Dup = 2 }),
		once("freezes", func(b *Bounds) { b.Freeze = 2 }),
		once("subscriptions break", func(b *Bounds) { b.Break = 2 }),
		once("callers give up, answers are lost", func(b *Bounds) { b.GiveUp, b.Lose = true, 1 }),
		once("three processes", func(b *Bounds) { b.Procs = 3; b.GiveUp = true }),
		once("three processes, crashes", func(b *Bounds) { b.Procs = 3; b.Crash = 2 }),
		once("three processes, a subscription breaks", func(b *Bounds) { b.Procs = 3; b.Break = 1 }),
		once("L is deleted", func(b *Bounds) { b.Evict = 1 }),
		once("a longer ttl", func(b *Bounds) { b.TTL, b.Window, b.RTO, b.Delay, b.Lose = 4, 2, 3, 1, 1 }),
	}
}

// Large are the bounds of "make model".
func Large() []Bounds {
	return []Bounds{
		base("two messages late", func(b *Bounds) { b.Callers, b.Delay = 1, 2 }),
		base("a message lost", func(b *Bounds) { b.Lose = 1 }),
		base("a message doubled", func(b *Bounds) { b.Dup = 1 }),
		base("a message late", func(b *Bounds) { b.Delay = 1 }),
		base("a freeze", func(b *Bounds) { b.Freeze = 1 }),
		base("a subscription breaks", func(b *Bounds) { b.Break = 1 }),
		base("callers give up", func(b *Bounds) { b.GiveUp = true }),
		base("lost, late and doubled, once each", func(b *Bounds) { b.Callers, b.Lose, b.Delay, b.Dup = 1, 1, 1, 1 }),
		base("three processes, one dies, one freezes", func(b *Bounds) { b.Callers, b.Procs, b.Crash, b.Freeze = 1, 3, 1, 1 }),
	}
}
