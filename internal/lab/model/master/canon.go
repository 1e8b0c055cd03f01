package master

import "cmp"

// settle forgets ids that nothing speaks of, and sorts what is under way.
func settle(w *world) {
	for p := range w.P[:w.m.Procs] {
		c := &w.P[p]
		for k, u := range c.Used {
			i := idOf(p, k)
			if u != 0 && u&owes == 0 && i != c.ID && i != c.Fresh && i != c.Over && !w.spoken(i) {
				c.Used[k] = 0
			}
		}
	}
	squeeze(w)
	w.sortNet()
}

// squeeze forgets what no step can tell any more, so that states which differ in
// nothing else are one.
func squeeze(w *world) {
	for p := range w.P[:w.m.Procs] {
		w.P[p].squeeze(unpushed(w, p))
	}
	for k := range w.Net {
		m := &w.Net[k]
		if m.Kind == empty || m.Kind == subscribeReq || m.Kind == subscribeAns {
			continue
		}
		c := &w.P[m.to()]
		if (m.Kind == renewReq || m.Kind == renewAns) && !m.has(lost) && (m.ID != c.ID || c.Phase != holding) {
			if m.Kind == renewAns { // nobody looks at it any more
				*m = Msg{}
				continue
			}
			m.Flags = m.Flags&stride | echo
		}
		if m.Kind == unlockReq && m.Fresh == 0 {
			m.Flags &^= sure
		}
		if !w.m.Timed && m.Kind != grantPush {
			m.Rank = 0
			if m.Word != grantedWord && m.Word != renewedWord {
				m.X = 0
			}
		}
		if (!w.m.Timed || !m.has(lost|slow)) && !m.dated(c) {
			m.Age = 0
		}
	}
	w.rankTokens()
}

// unpushed reports whether no push can come any more that grants the tenure.
func unpushed(w *world, p int) bool {
	c := &w.P[p]
	if c.Phase == none || c.Phase == leaving {
		return true
	}
	if c.Phase != holding || place(w, c.ID) >= 0 {
		return false
	}
	for k := range w.Net {
		if m := &w.Net[k]; m.ID == c.ID && (m.Kind == lockReq || m.Kind == grantPush) {
			return false
		}
	}
	return true
}

func (c *Proc) squeeze(unpushed bool) {
	if c.Dead {
		return
	}
	if unpushed {
		c.First, c.Lag = 0, -1
		if c.Fresh == 0 {
			c.Subscribed = 0 // what is asked for later is asked for after it was sent
		}
	}
	if c.Phase != queued {
		c.Look = 0
	}
	if c.Phase != holding {
		c.Left, c.Due, c.Life = 0, 0, 0
		c.Tokens = tokens{oldest, oldest, oldest, oldest}
		c.Recalled, c.Serve, c.Turned, c.Heard, c.Topped = false, 0, false, false, false
	}
	if c.Phase == leaving {
		c.Early, c.Tried, c.Waits, c.Failed = false, false, false, false
	}
	if !c.Turn {
		c.Held = 0
	}
	if c.Waits {
		c.Failed = false
	}
	if c.Heard {
		c.Turned = false // it is only asked for where a recall may have gone unheard
	}
}

// dated reports whether it matters how old a message is: whether a life may begin
// with it.
func (m *Msg) dated(c *Proc) bool {
	switch m.Kind {
	case grantPush:
		return m.ID == c.ID && (c.Phase == asked || c.Phase == queued || c.Phase == holding) || m.ID == c.Fresh
	case lockReq, lockAns:
		return m.ID == c.ID && c.Phase <= holding && !m.has(echo) && (m.request() || m.Word == grantedWord)
	case renewReq, renewAns:
		return m.ID == c.ID && c.Phase == holding && !m.has(echo)
	case unlockReq, unlockAns:
		return m.Fresh != 0 && m.Fresh == c.Fresh && !m.has(echo) && (m.request() || m.Word == grantedWord)
	}
	return false
}

// spoken reports whether an id is in L, Q or under way.
func (s *State) spoken(i id) bool {
	if s.L == i {
		return true
	}
	for _, q := range s.Q {
		if q == i {
			return true
		}
	}
	for k := range s.Net {
		if m := &s.Net[k]; m.ID == i && m.Kind != empty && m.Kind != subscribeReq && m.Kind != subscribeAns || m.Fresh == i {
			return true
		}
	}
	return false
}

func (s *State) sortNet() {
	for i := 1; i < len(s.Net); i++ {
		for k := i; k > 0 && less(&s.Net[k], &s.Net[k-1]); k-- {
			s.Net[k], s.Net[k-1] = s.Net[k-1], s.Net[k]
		}
	}
}

// key orders messages; empty ones come last.
func (m *Msg) key() [2]uint64 {
	if m.Kind == empty {
		return [2]uint64{1<<64 - 1}
	}
	u := func(n int8) uint64 { return uint64(uint8(n)) }
	return [2]uint64{
		uint64(m.Kind)<<56 | uint64(m.ID)<<48 | uint64(m.Fresh)<<40 | uint64(m.Flags)<<24 | uint64(m.Word)<<16 | u(m.Age)<<8 | u(m.Hop),
		u(m.Base)<<40 | u(m.Size)<<32 | u(m.X)<<24 | u(m.Rank)<<16 | u(m.Lag)<<8 | u(m.Score),
	}
}

func less(a, b *Msg) bool {
	x, y := a.key(), b.key()
	return x[0] < y[0] || x[0] == y[0] && x[1] < y[1]
}

// orders are the ways to put 1, 2 or 3 things, but the one that changes nothing,
// each as where every one goes.
var orders = [4][][]int{2: {{1, 0}}, 3: {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}}

// renameIDs numbers the ids of a process: the tenure, the fresh one, the one that
// is over, then by L, Q and the rest.
func (s *State) renameIDs(p int) {
	c := &s.P[p]
	var order [slots]int8 // new slot + 1 by old slot
	n := int8(0)
	put := func(i id) {
		if i != 0 && i.proc() == p && order[i.slot()] == 0 {
			n++
			order[i.slot()] = n
		}
	}
	put(c.ID)
	put(c.Fresh)
	put(c.Over)
	put(s.L)
	for _, i := range s.Q {
		put(i)
	}
	same := true
	for k, u := range c.Used {
		if u != 0 || c.Dead && s.spoken(idOf(p, k)) {
			put(idOf(p, k))
		}
		same = same && (order[k] == 0 || int(order[k]) == k+1)
	}
	if same {
		return
	}
	var used [slots]uint8
	for k, u := range c.Used {
		if order[k] > 0 {
			used[order[k]-1] = u
		}
	}
	c.Used = used
	s.rename(func(i id) id {
		if i == 0 || i.proc() != p || order[i.slot()] == 0 {
			return i
		}
		return idOf(p, int(order[i.slot()]-1))
	})
}

// rename gives every id another name.
func (s *State) rename(to func(id) id) {
	s.L = to(s.L)
	for k := range s.Q {
		s.Q[k] = to(s.Q[k])
	}
	for p := range s.P {
		c := &s.P[p]
		c.ID, c.Fresh, c.Over = to(c.ID), to(c.Fresh), to(c.Over)
	}
	for k := range s.Net {
		m := &s.Net[k]
		if m.Kind != subscribeReq && m.Kind != subscribeAns {
			m.ID = to(m.ID)
		}
		m.Fresh = to(m.Fresh)
	}
}

// swap puts the processes from first on into another order.
func (s *State) swap(first int, order []int) {
	old := *s
	for k, to := range order {
		s.P[first+to], s.Sub[first+to], s.Ahead[first+to] = old.P[first+k], old.Sub[first+k], old.Ahead[first+k]
	}
	move := func(i id) id {
		if i == 0 || i.proc() < first {
			return i
		}
		return idOf(first+order[i.proc()-first], i.slot())
	}
	s.rename(move)
	for k := range s.Net {
		if m := &s.Net[k]; m.Kind == subscribeReq || m.Kind == subscribeAns {
			m.ID = move(m.ID)
		}
	}
	s.sortNet()
}

// compare orders states that differ in the order of their processes. Those that
// it takes for equal are two, which costs time and nothing else.
func (s *State) compare(o *State) int {
	if n := cmp.Or(cmp.Compare(s.L, o.L), cmp.Compare(s.Q[0], o.Q[0]), cmp.Compare(s.Q[1], o.Q[1])); n != 0 {
		return n
	}
	for p := range s.P {
		if n := cmp.Compare(s.P[p].key(), o.P[p].key()); n != 0 {
			return n
		}
	}
	for k := range s.Net {
		if less(&s.Net[k], &o.Net[k]) {
			return -1
		}
		if less(&o.Net[k], &s.Net[k]) {
			return 1
		}
	}
	return 0
}

// key orders processes.
func (c *Proc) key() uint64 {
	bit := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	return bit(c.Dead)<<40 | uint64(c.Phase)<<36 | uint64(c.Callers)<<32 | bit(c.Turn)<<31 | uint64(c.Come)<<24 |
		uint64(c.Left)<<16 | uint64(c.Wake)<<12 | uint64(c.First)<<8 | bit(c.Waits)<<7 | bit(c.Heard)<<6 | uint64(c.Over)
}

// rankScores replaces arrivals by their order.
func (s *State) rankScores() {
	var present [64]bool
	each := func(f func(*int8)) {
		for k := range s.Score {
			f(&s.Score[k])
		}
		for p := range s.P {
			f(&s.P[p].Score)
		}
		for k := range s.Net {
			f(&s.Net[k].Score)
		}
	}
	each(func(n *int8) { present[*n] = true })
	var rank [64]int8
	next := int8(0)
	for n := 1; n < len(rank); n++ {
		if present[n] {
			next++
			rank[n] = next
		}
	}
	each(func(n *int8) { *n = rank[*n] })
}
