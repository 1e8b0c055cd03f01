// Package waiting checks how long a waiter waits. It knows nothing of where its calls come
// from: the histories of real processes and the random runs of simulated time bring the same
// Name, and the same bounds apply to both.
//
// A time in which a name was free while a living waiter asked for it is idle time. A name is
// free while nobody was given a lease, so a claim window counts as idle. Of a shared kind the
// part that the waiter asked for is free. Overtaken says which later callers were served first.
package waiting

import (
	"cmp"
	"slices"
	"time"
)

// Never is after all times.
const Never = int64(1<<63 - 1)

// Span is a length of time, in ns of any clock.
type Span struct{ From, To int64 }

// Call is one call for a part of a name, and its result.
type Call struct {
	Client    string
	Place     string // in the queue; local waiters of a mutex share the place of their Client
	Weight    int64  // of the part
	Asked     int64
	Until     int64 // it waited until then: it was answered, or its process died, or all was over
	Dead      bool  // its process died at Until, so its place may still be in the queue
	Got       int64 // when it was granted; 0: it was not
	Left      int64 // when the lease had ended in Redis, at the latest
	Token     int64
	Own       bool      // its tenure is its own; else turns with tokens of one block share one
	Smaller   []Smaller // what became of its part before it left
	Dedicated bool      // it is not checked itself: it asks for several names at once
}

// Smaller says that a holder kept a smaller part from a time on.
type Smaller struct{ At, Weight int64 }

// Name is all that happened to one name.
type Name struct {
	Capacity int64
	Calls    []*Call
	Doubt    []Span            // somebody may have held the name without a call that says so
	Frozen   map[string][]Span // when a Client did not run though its connections were up
	Still    []Span            // when a monitor saw a process or a server stand still
	Lost     []int64           // when the queue was lost
	From, To int64             // what is checked
}

// Rules are the bounds.
type Rules struct {
	Base   time.Duration // that a free name may be idle
	Each   time.Duration // and for each waiter in front
	Window time.Duration // and for each frozen Client in front, once for each time that it is frozen
	Lost   time.Duration // and once after each loss of the queue

	// Abreast is how far apart two calls of different Clients may come and still have the
	// other order in the queue: the try, the subscription and the place take so long.
	Abreast time.Duration
	Grants  int // of a topology without a queue: what another Client may be granted during one wait
}

// Promised are the bounds of L1 for a topology with a queue, for Clients with a ttl. pushes
// reports whether messages arrive.
func Promised(ttl time.Duration, pushes bool) Rules {
	r := Rules{
		Base: time.Second, Each: 50 * time.Millisecond,
		Window: min(ttl, 2*time.Second), Lost: min(ttl, 15*time.Second),
		Abreast: 60 * time.Millisecond,
	}
	if !pushes {
		r.Each = 250 * time.Millisecond
	}
	return r
}

// PromisedByQuorum are those of a quorum, which has no queue: its waiters poll.
func PromisedByQuorum(ttl time.Duration) Rules {
	r := Promised(ttl, true)
	r.Grants = 10
	return r
}

// Breach is a bound that was broken.
type Breach struct {
	Call   *Call         // the waiter
	From   int64         // when the time began
	Length time.Duration // of the idle time, without standstills
	Bound  time.Duration
	Front  int // places in front of the waiter
	By     *Call
	Count  int // grants that it saw go to one other Client
}

// sweep walks through the times of a name.
type sweep struct {
	n       *Name
	r       Rules
	waits   map[*Call]bool
	used    int64
	doubts  int
	frozen  map[string]int
	begun   int64 // of the idle time; -1: it is not idle
	budgets []*budget

	longest time.Duration
	found   []Breach
}

// budget is a time that a bound is longer by, once.
type budget struct {
	span   Span // idle times that overlap it may use it
	client string
	left   int64
}

// Idle finds the idle times that were longer than the bounds, and the length of the longest
// of all, without the standstills in it.
func (n *Name) Idle(r Rules) (found []Breach, longest time.Duration) {
	w := &sweep{n: n, r: r, waits: map[*Call]bool{}, frozen: map[string]int{}, begun: -1, budgets: n.budgets(r)}
	type step struct {
		t  int64
		do func()
	}
	var steps []step
	at := func(t int64, do func()) { steps = append(steps, step{t, do}) }
	for _, c := range n.Calls {
		if !c.Dedicated {
			at(c.Asked, func() { w.waits[c] = true })
			at(c.Until, func() { delete(w.waits, c) })
		} else {
			n.Doubt = append(n.Doubt, Span{c.Asked, c.Until})
		}
		if c.Got > 0 && c.Left >= c.Got {
			at(c.Got, func() { w.close(c.Got); w.used += c.Weight })
			weight := c.Weight
			for _, s := range c.Smaller {
				less := weight - s.Weight
				at(s.At, func() { w.used -= less })
				weight = s.Weight
			}
			at(c.Left, func() { w.used -= weight })
		}
	}
	for _, d := range n.Doubt {
		at(d.From, func() { w.doubts++ })
		at(d.To, func() { w.doubts-- })
	}
	for client, spans := range n.Frozen {
		for _, s := range spans {
			at(s.From, func() { w.frozen[client]++ })
			at(s.To, func() { w.frozen[client]-- })
		}
	}
	at(n.From, func() {})
	at(n.To, func() {})
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.t, b.t) })
	for i, s := range steps {
		if s.t > n.To {
			break
		}
		s.do()
		if i+1 == len(steps) || steps[i+1].t > s.t {
			w.look(s.t)
		}
	}
	w.close(n.To)
	return w.found, w.longest
}

// budgets are what idle times may use once: claim windows of the frozen, the loss of a queue.
func (n *Name) budgets(r Rules) (all []*budget) {
	for client, spans := range n.Frozen {
		for _, s := range spans {
			waited := slices.ContainsFunc(n.Calls, func(c *Call) bool { return c.Client == client && c.Asked < s.To && c.Until > s.From })
			if waited {
				all = append(all, &budget{Span{s.From - int64(r.Window), s.To}, client, int64(r.Window)})
			}
		}
	}
	for _, t := range n.Lost {
		all = append(all, &budget{Span{t, t + int64(r.Lost+r.Base) + int64(len(n.Calls))*int64(r.Each)}, "", int64(r.Lost)})
	}
	slices.SortFunc(all, func(a, b *budget) int { return cmp.Compare(a.span.To, b.span.To) })
	return all
}

// look notes whether the name is idle from now on.
func (w *sweep) look(t int64) {
	most, living := int64(0), false
	for c := range w.waits {
		if w.frozen[c.Client] == 0 {
			living, most = true, max(most, c.Weight)
		}
	}
	idle := living && w.doubts == 0 && w.used+most <= w.n.Capacity && t >= w.n.From && t < w.n.To
	switch {
	case !idle:
		w.close(t)
	case w.begun < 0:
		w.begun = t
	}
}

// close ends an idle time and checks it.
func (w *sweep) close(t int64) {
	from := w.begun
	w.begun = -1
	if from < 0 || t <= from {
		return
	}
	var worst Breach
	for _, c := range w.n.Calls {
		if c.Dedicated || c.Asked >= t || c.Until <= from {
			continue
		}
		for _, s := range w.living(c, Span{max(from, c.Asked), min(t, c.Until)}) {
			length := s.To - s.From - covered(w.n.Still, s)
			w.longest = max(w.longest, time.Duration(length))
			if length <= int64(w.r.Base) {
				continue
			}
			b := Breach{Call: c, From: s.From, Length: time.Duration(length), Front: w.n.front(c, s, int64(w.r.Abreast))}
			b.Bound = w.r.Base + time.Duration(b.Front)*w.r.Each
			if worst.Call == nil || b.Length-b.Bound > worst.Length-worst.Bound {
				worst = b
			}
		}
	}
	if worst.Call == nil {
		return
	}
	for _, b := range w.budgets {
		if b.left == 0 || b.span.From > t || b.span.To < worst.From || b.client == worst.Call.Client {
			continue
		}
		used := min(b.left, max(0, int64(worst.Length-worst.Bound)))
		b.left -= used
		worst.Bound += time.Duration(used)
	}
	if worst.Length > worst.Bound {
		w.found = append(w.found, worst)
	}
}

// living are the parts of a time in which the Client of a call ran.
func (w *sweep) living(c *Call, s Span) (parts []Span) {
	for _, f := range sorted(w.n.Frozen[c.Client]) {
		if f.To <= s.From || f.From >= s.To {
			continue
		}
		if f.From > s.From {
			parts = append(parts, Span{s.From, f.From})
		}
		s.From = max(s.From, f.To)
	}
	if s.From < s.To {
		parts = append(parts, s)
	}
	return parts
}

// front counts the places that may stand in front of the first living waiter of a time, if
// that is not behind c: those of the frozen, of waiters that give up meanwhile, and of the dead
// that nobody who came later has passed. The living that wait all the time need no place: one
// of them is that first.
func (n *Name) front(c *Call, s Span, abreast int64) int {
	came := n.came(c, s.From)
	places := map[string]bool{}
	for _, o := range n.Calls {
		if o.Place == c.Place || o.Asked >= came+abreast || o.Asked >= s.To {
			continue
		}
		gone := o.Until < s.To && o.Until > s.From || n.frozen(o) && o.Until > s.From
		if gone || o.Dead && o.Until <= s.From && !n.passed(o, s.From, abreast) {
			places[o.Place] = true
		}
	}
	return len(places)
}

// came is when a call got its place in the queue, as of a time: when it asked, or when the
// last tenure of its Client ended, which did not serve it.
func (n *Name) came(c *Call, at int64) int64 {
	came := c.Asked
	for _, o := range n.Calls {
		if !c.Own && o.Client == c.Client && o.Got > 0 && o.Got < at {
			came = max(came, min(o.Left, at))
		}
	}
	return came
}

// passed reports whether somebody who came after a dead waiter was granted since.
func (n *Name) passed(dead *Call, at, abreast int64) bool {
	return slices.ContainsFunc(n.Calls, func(o *Call) bool {
		return o.Got > dead.Until && o.Got < at && o.Asked > dead.Asked+abreast && o.Client != dead.Client
	})
}

// covered is how much of a time lies in spans.
func covered(spans []Span, of Span) (sum int64) {
	from := of.From
	for _, s := range sorted(spans) {
		if s.To <= from || s.From >= of.To {
			continue
		}
		from = max(from, s.From)
		to := min(s.To, of.To)
		sum += to - from
		from = to
	}
	return sum
}

// sorted are the spans by their beginnings.
func sorted(spans []Span) []Span {
	if !slices.IsSortedFunc(spans, byFrom) {
		spans = slices.Clone(spans)
		slices.SortFunc(spans, byFrom)
	}
	return spans
}

func byFrom(a, b Span) int { return cmp.Compare(a.From, b.From) }
