package ballot

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/memory"
)

// copier copies what can be reached from a Ballot and from the calls that its client waits for.
// searchFields lists the fields.
type copier struct {
	of    *client
	known map[any]any
}

// copied is the copy of what x points to; fill copies what is reached from there.
func copied[T any](c *copier, x *T, fill func(y *T)) *T {
	if x == nil {
		return nil
	}
	if y, ok := c.known[x]; ok {
		return y.(*T)
	}
	y := new(T)
	*y = *x
	c.known[x] = y
	fill(y)
	return y
}

// own makes a client one of this state alone.
func (w *world) own(n int) {
	old := w.clients[n]
	y := *old
	y.w = w
	w.clients[n] = &y
	if old.dead {
		return
	}
	place := *old.place
	y.place = &place
	c := &copier{&y, map[any]any{}}
	y.b = c.ballot(old.b)
	for i, m := range w.net {
		if m.client == n && !m.deaf {
			message, call := *m, *m.call
			message.call = &call
			call.place = &place
			call.part = c.part(call.part)
			w.net[i] = &message
		}
	}
}

func (c *copier) ballot(x *Ballot) *Ballot {
	b := *x
	b.host, b.timers, b.owed = c.of, clock.Timers{}, nil
	b.nodes = make([]*node, len(x.nodes))
	for i, n := range x.nodes {
		b.nodes[i] = &node{number: n.number, roundTrip: n.roundTrip, inflight: n.inflight, lastAnswer: n.lastAnswer, stale: maps.Clone(n.stale)}
		b.nodes[i].silent.Store(n.silent.Load())
		for id := range n.owed {
			b.nodes[i].owe(id, c.of.place)
		}
	}
	b.past = memory.For[*Place]{Limit: x.past.Limit}
	for _, id := range c.of.w.bounds.ids[c.of.n] {
		if x.past.Of(id) != nil {
			b.past.Add(id, c.of.place, c.of.w.now, c.of.w.bounds.ttl()+1<<40)
		}
	}
	b.yields.until = maps.Clone(x.yields.until)
	c.of.b = &b
	b.tenures, b.cleanups = map[string]*tenure{}, map[*cleanup]struct{}{}
	for _, id := range slices.Sorted(maps.Keys(x.tenures)) {
		b.tenures[id] = c.tenure(x.tenures[id])
	}
	for _, k := range slices.SortedFunc(maps.Keys(x.cleanups), compareCleanups) {
		b.cleanups[c.cleanup(k)] = struct{}{}
	}
	return &b
}

func compareCleanups(a, b *cleanup) int {
	return cmp.Or(a.node-b.node, slices.Compare(a.args, b.args), cmp.Compare(a.until, b.until), cmp.Compare(a.wait, b.wait), cmp.Compare(a.timer.When(), b.timer.When()))
}

// isSet reports whether a timer is in the heap.
func isSet(t *clock.Timer) bool { return reflect.ValueOf(t).Elem().FieldByName("place").Int() > 0 }

// timer is the copy of a timer.
func (c *copier) timer(old *clock.Timer, fresh *clock.Timer, fire func(clock.Instant)) {
	*fresh = clock.Timer{Fire: fire}
	if isSet(old) {
		c.of.b.timers.Set(fresh, old.When())
	}
}

func (c *copier) tenure(x *tenure) *tenure {
	return copied(c, x, func(y *tenure) { y.place, y.try, y.unlock = c.of.place, c.try(x.try), c.unlock(x.unlock) })
}

func (c *copier) try(x *try) *try {
	return copied(c, x, func(y *try) {
		y.b, y.tenure, y.votes.of = c.of.b, c.tenure(x.tenure), slices.Clone(x.votes.of)
		c.timer(&x.timer, &y.timer, y.decide)
	})
}

func (c *copier) renewal(x *renewal) *renewal {
	return copied(c, x, func(y *renewal) {
		y.b, y.tenure, y.answers.of = c.of.b, c.tenure(x.tenure), slices.Clone(x.answers.of)
	})
}

func (c *copier) unlock(x *unlock) *unlock {
	return copied(c, x, func(y *unlock) {
		y.b, y.tenure, y.newest = c.of.b, c.tenure(x.tenure), c.round(x.newest)
		y.runs, y.done = slices.Clone(x.runs), slices.Clone(x.done)
	})
}

func (c *copier) round(x *round) *round {
	return copied(c, x, func(y *round) { y.unlock, y.owed = c.unlock(x.unlock), slices.Clone(x.owed) })
}

func (c *copier) cleanup(x *cleanup) *cleanup {
	return copied(c, x, func(y *cleanup) {
		y.b, y.place, y.of = c.of.b, c.of.place, copied(c, x.of, func(*cleanupGroup) {})
		c.timer(&x.timer, &y.timer, y.send)
	})
}

func (c *copier) part(x part) part {
	switch x := x.(type) {
	case *try:
		return c.try(x)
	case *renewal:
		return c.renewal(x)
	case *round:
		return c.round(x)
	case *cleanup:
		return c.cleanup(x)
	}
	panic("a part of a Ballot that the search does not know")
}

// searchFields are the fields of what a Ballot has: those that the key of a state has, and those that
// it leaves out. Left out is what names things, what points back, what follows from the rest, what only
// tells (errors), and what paces tries: the programs of the search ask whenever they like.
var searchFields = []struct {
	of      reflect.Type
	in, out string
}{
	{reflect.TypeFor[Ballot](), "nodes seen tenures past cleanups timers", "Settings host need sweepFrom yields owed closed"},
	{reflect.TypeFor[node](), "stale owed silent", "number roundTrip inflight lastAnswer"},
	{reflect.TypeFor[tenure](), "id phase try token ends expiry unlock", "place wanted"},
	{reflect.TypeFor[try](), "request tenure votes over timer", "b"},
	{reflect.TypeFor[renewal](), "request tenure answers decided renewed", "b"},
	{reflect.TypeFor[unlock](), "tenure done newest", "b runs"},
	{reflect.TypeFor[round](), "unlock request owed open", "err"},
	{reflect.TypeFor[cleanup](), "node args until wait timer", "b place of"},
	{reflect.TypeFor[cleanupGroup](), "", "request open"},
	{reflect.TypeFor[Call](), "Call Node Sent part", "Attempt place"},
	{reflect.TypeFor[Place](), "", "Name TTL lock unlock splits late"},
}

// A field that is added has to be copied, and to come into the key or to be left out for a reason.
func TestSearchKnowsEveryField(t *testing.T) {
	for _, k := range searchFields {
		known := map[string]bool{}
		for f := range strings.FieldsSeq(k.in + " " + k.out) {
			known[f] = true
		}
		for i := range k.of.NumField() {
			name := k.of.Field(i).Name
			if !known[name] {
				t.Errorf("%v.%s is neither in the key of a searched state nor among what that leaves out; is it copied?", k.of, name)
			}
			delete(known, name)
		}
		for name := range known {
			t.Errorf("%v has no field %s", k.of, name)
		}
	}
}

// A copy goes on as what it was copied from.
func TestSearchCopiesGoOnAlike(t *testing.T) {
	for _, b := range smallBounds() {
		for seed := range uint64(8) {
			chance := rand.New(rand.NewPCG(seed, 1))
			w, replayed := newWorld(b, ""), newWorld(b, "")
			for range 60 {
				steps := w.next(nil)
				if len(steps) == 0 {
					break
				}
				s := steps[chance.IntN(len(steps))]
				before := w.print()
				next := w.after(s)
				if w.print() != before {
					t.Fatalf("%s, seed %d: a step of a copy changes what was copied:\n%s\n%s", b.name, seed, before, w.print())
				}
				w = next
				if replayed.do(s); replayed.print() != w.print() {
					t.Fatalf("%s, seed %d: a copy goes on differently:\n%s\n%s", b.name, seed, w.print(), replayed.print())
				}
			}
		}
	}
}
