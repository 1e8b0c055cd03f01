package ballot

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// keyMaker writes a state so that two states are written alike if they differ only in what does not
// matter: when they are, which node is which, and which of two clients that are alike. What it leaves out stands in searchFields.
type keyMaker struct {
	w     *world
	b     []byte
	order []int // of the clients
	parts [5][]byte
	loose [][]byte
}

func (k *keyMaker) num(n int64) { k.b = binary.AppendVarint(k.b, n) }

func (k *keyMaker) bits(all ...bool) {
	n := byte(0)
	for i, x := range all {
		n |= byte(bit(x)) << i
	}
	k.b = append(k.b, n)
}

// at writes a time as what is left of it, and what is past as past.
func (k *keyMaker) at(i clock.Instant) { k.num(max(0, int64(i-k.w.now)+1)) }

// since writes for how long something has been under way. When all is over that is counted from then
// (a ttl, what an answer is waited for, the patience of a try) it does not matter any more.
func (k *keyMaker) since(i clock.Instant) {
	k.num(int64(min(k.w.now.Sub(i), max(k.w.bounds.ttl(), k.w.bounds.attempt, 3*grid))))
}

// id writes an id as its client and the number of its try.
func (k *keyMaker) id(id string) {
	if id == "" {
		k.num(-1)
		return
	}
	n := int(id[0] - 'a')
	k.num(int64(slices.Index(k.order, n)<<8 | slices.IndexFunc(k.w.bounds.ids[n], func(x string) bool { return strings.HasPrefix(id, x) })))
}

// ids writes which ids are in a set.
func (k *keyMaker) ids(c *client, in func(id string) bool) {
	set := int64(0)
	for i, id := range k.w.bounds.ids[c.n][:c.tries] {
		if in(id) {
			set |= 1 << i
		}
	}
	k.num(set)
}

// reached is what can be reached of a client's Ballot, beside its nodes and cleanups.
type reached struct {
	tenures  []*tenure
	renewals []*renewal
	rounds   []*round
}

func addOnce[T comparable](all []T, x T) []T {
	if slices.Contains(all, x) {
		return all
	}
	return append(all, x)
}

func (w *world) reached(c *client) (r reached) {
	for _, t := range c.b.tenures {
		r.tenures = append(r.tenures, t)
	}
	for _, m := range w.net {
		if m.client != c.n || m.deaf {
			continue
		}
		switch p := m.call.part.(type) {
		case *try:
			r.tenures = addOnce(r.tenures, p.tenure)
		case *renewal:
			r.tenures, r.renewals = addOnce(r.tenures, p.tenure), addOnce(r.renewals, p)
		case *round:
			r.tenures, r.rounds = addOnce(r.tenures, p.tenure), addOnce(r.rounds, p)
		}
	}
	slices.SortFunc(r.tenures, func(a, b *tenure) int { return strings.Compare(a.id, b.id) })
	slices.SortFunc(r.renewals, func(a, b *renewal) int { return a.request.For.(int) - b.request.For.(int) })
	slices.SortFunc(r.rounds, func(a, b *round) int { return a.request.For.(int) - b.request.For.(int) })
	return r
}

// key returns what stands for all states that are like this one.
func (k *keyMaker) key(w *world) []byte {
	k.w, k.order = w, []int{0, 1}
	key := k.inOrder()
	if w.bounds.alike() {
		k.order = []int{1, 0}
		if other := k.inOrder(); bytes.Compare(other, key) < 0 {
			return other
		}
	}
	return key
}

// alike reports whether it does not matter which client is which.
func (b *searchBounds) alike() bool {
	return b.tries[0] == b.tries[1] && b.renew == 0 && !b.far && !b.replace
}

func (k *keyMaker) inOrder() []byte {
	w := k.w
	var all [2]reached
	for i, c := range w.clients {
		if !c.dead {
			all[i] = w.reached(c)
		}
	}
	parts := k.parts[:w.bounds.nodes]
	for i := range parts {
		k.b = parts[i][:0]
		k.node(i, all[:])
		parts[i] = k.b
	}
	if !w.bounds.replace {
		slices.SortFunc(parts, bytes.Compare)
	}
	k.b = make([]byte, 0, 512)
	for _, p := range parts {
		k.num(int64(len(p)))
		k.b = append(k.b, p...)
	}
	for _, n := range k.order {
		k.client(w.clients[n], &all[n])
	}
	k.num(w.used)
	if w.bounds.horizon > 0 {
		k.num(int64(w.now - searchStart))
	}
	leases := slices.Sorted(slices.Values(w.leases))
	for _, t := range leases {
		k.num(t)
	}
	f := &w.faults
	k.b = append(k.b, f.Late, f.Lose, f.Fail, f.Dup, f.Crash, f.Restart)
	return k.b
}

// client writes what no node has a part in.
func (k *keyMaker) client(c *client, r *reached) {
	k.bits(c.dead)
	k.num(int64(c.tries))
	if c.dead {
		return
	}
	k.b = append(k.b, byte(c.phase), byte(c.renewed))
	k.bits(c.renewal != nil)
	k.num(c.token)
	if c.phase == holding {
		k.at(c.ends)
	}
	k.num(c.b.seen)
	k.ids(c, func(id string) bool { return c.b.past.Of(id) != nil })
	for _, t := range r.tenures {
		k.id(t.id)
		k.bits(c.b.tenures[t.id] == t)
		k.num(int64(t.phase))
		k.num(t.token)
		k.at(t.ends)
		k.at(t.expiry)
		if t.try != nil && !t.try.isOver() {
			k.since(t.try.request.Sent)
			k.num(t.try.votes.token)
			k.timer(&t.try.timer)
		}
	}
	for _, p := range r.renewals {
		k.id(p.tenure.id)
		k.bits(p.decided, p.renewed, c.renewal == p.request)
		k.since(p.request.Sent)
	}
	for _, p := range r.rounds {
		k.id(p.tenure.id)
		k.bits(p.newest == p, c.request == p.request)
		k.num(int64(p.open))
	}
}

func (k *keyMaker) timer(t *clock.Timer) {
	if isSet(t) {
		k.at(t.When())
	} else {
		k.num(-1)
	}
}

// node writes a node, what each client knows of it, and what is under way to and from it.
func (k *keyMaker) node(i int, all []reached) {
	w, m := k.w, &k.w.masters[i]
	k.id(m.lock)
	k.num(m.fence)
	if m.lock != "" {
		k.num(m.token)
		k.at(m.expires)
	}
	k.at(m.until)
	k.num(m.ahead)
	k.num(int64(len(m.mark)))
	k.bits(m.restarted, m.unseen, m.mark == secondQuorum)
	for _, n := range k.order {
		c := w.clients[n]
		if at := slices.Index(c.members, i); at >= 0 && !c.dead {
			k.known(c, at, &all[n])
		}
	}
	loose := k.loose[:0]
	outer := k.b
	for _, g := range w.net {
		if w.at(g) == i {
			k.b = nil
			k.message(g)
			loose = append(loose, k.b)
		}
	}
	for _, c := range w.clients {
		if c.dead {
			continue
		}
		for x := range c.b.cleanups {
			if c.members[x.node] == i && isSet(&x.timer) {
				k.b = nil
				k.num(-2)
				k.cleanup(x)
				k.timer(&x.timer)
				loose = append(loose, k.b)
			}
		}
	}
	k.b = outer
	slices.SortFunc(loose, bytes.Compare)
	for _, l := range loose {
		k.num(int64(len(l)))
		k.b = append(k.b, l...)
	}
	k.loose = loose
}

// known writes what a client knows of a node.
func (k *keyMaker) known(c *client, at int, r *reached) {
	n := c.b.nodes[at]
	k.bits(n.silent.Load())
	k.ids(c, func(id string) bool { return n.stale[id] })
	k.ids(c, func(id string) bool { return n.owed[id] != nil })
	for _, t := range r.tenures {
		if t.try != nil && !t.try.isOver() {
			v := &t.try.votes.of[at]
			k.num(int64(v.state))
			k.num(v.token)
			if v.state == against {
				k.id(v.answer.Holder)
				k.bits(v.answer.Word == wire.Held)
			}
		}
		if t.unlock != nil {
			k.bits(t.unlock.done[at])
		}
	}
	for _, p := range r.renewals {
		if !p.decided {
			k.answer(p.answers.of[at].Word, p.answers.of[at].Holder != "")
		}
	}
	for _, p := range r.rounds {
		k.bits(p.owed[at])
	}
}

// answer writes what a renewal, a raise, a repair or an unlock makes of an answer.
func (k *keyMaker) answer(word wire.Word, isTaken bool) {
	k.num(int64(slices.Index([]wire.Word{wire.NoWord, wire.Granted, wire.Renewed, wire.Lost, wire.Raised, wire.Repaired, wire.NoMember, wire.Released, wire.NotHeld}, word)))
	k.bits(isTaken)
}

func (k *keyMaker) cleanup(x *cleanup) {
	k.id(x.args[0])
	k.at(x.until)
	k.num(int64(x.wait))
}

func (k *keyMaker) message(m *message) {
	c := m.call
	k.num(int64(slices.Index(k.order, m.client)))
	k.b = append(k.b, c.Script.Name...)
	k.id(c.Args[0])
	k.bits(m.ran, m.lost, m.slow, m.deaf)
	switch {
	case m.ran:
		k.num(m.a.Base)
		k.answer(m.a.Word, m.a.Holder != "")
	case !m.lost && len(c.Args) > 2: // a lock, a raise, a renewal or a repair
		k.b = append(k.b, c.Args[1]...)
		k.b = append(k.b, c.Args[2]...)
	}
	if m.deaf {
		return
	}
	k.since(c.Sent)
	switch p := c.part.(type) {
	case *cleanup:
		k.cleanup(p)
	case *renewal:
		k.num(int64(p.request.For.(int)))
	case *round:
		k.num(int64(p.request.For.(int)))
	}
}
