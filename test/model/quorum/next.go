package quorum

import "github.com/holdfast-go/holdfast/test/model"

// Labels names what steps do.
func (m *Model) Labels() []string { return labels[:] }

// over: no try is left that could hold the name. What is still under way then
// harms nobody.
func (m *Model) over(s *State) bool {
	for k := range m.Client {
		if s.Tries[k].Phase != released {
			return false
		}
	}
	return true
}

type trier func(who int, first model.Note, do func(w *world))

// Next gives all that can happen.
func (m *Model) Next(s *State, emit func(model.Step, *State)) {
	if s.Bad != 0 || m.over(s) {
		return
	}
	try := func(who int, first model.Note, do func(w *world)) {
		w := world{State: *s, m: m}
		w.step.Who = uint8(who)
		w.note(first)
		do(&w)
		settle(&w)
		if w.State != *s {
			emit(w.step, &w.State)
		}
	}
	for k := range m.Client {
		m.nextTry(s, k, try)
		for i := range m.Nodes {
			if m.member(&s.Nodes[i], k) {
				m.nextVote(s, i, k, try)
			}
		}
	}
	m.nextAdmin(s, try)
	for i := range m.Nodes {
		if s.Restart < m.Restart {
			m.nextRestart(i, try)
		}
	}
	for i := range m.Nodes {
		n := &s.Nodes[i]
		if m.Loose && n.L != 0 {
			try(nobody, endsEarly, func(w *world) { n := &w.Nodes[i]; n.L, n.C, n.PX = 0, 0, 0 })
		}
		if n.Restarted && m.Mutant != NoGuard { // by a script for another name
			try(nobody, noticesRestart, func(w *world) { n := &w.Nodes[i]; n.Restarted, n.Out = false, w.m.SitOut })
		}
	}
	if !m.Loose && (m.Rate == 0 || s.Now < m.Horizon) {
		try(nobody, tickNote, tick)
	}
}

// nobody takes the steps that are no client's.
const nobody = maxTries

func (m *Model) nextTry(s *State, k int, try trier) {
	t := &s.Tries[k]
	switch t.Phase {
	case waiting:
		for e := range k { // the client's own, before this one
			if m.Client[e] == m.Client[k] && s.Tries[e].Phase != released {
				return
			}
		}
		try(k, tryBegins, func(w *world) { w.begin(k) })
	case asking:
		if m.Lean {
			return
		}
		try(k, tryGivenUp, func(w *world) { w.end(k) })
	case holding:
		if t.Left > 0 && t.Turns < m.Turns && !m.Lean {
			try(k, turnGiven, func(w *world) { w.turn(k) })
		}
		if t.Left > 0 && k == 0 && !t.Since && t.Times < m.Renew {
			try(k, renewalSent, func(w *world) { w.renews(k) })
		}
		try(k, leaves, func(w *world) { w.end(k) })
	}
}

func (m *Model) nextVote(s *State, i, k int, try trier) {
	v := &s.Nodes[i].Votes[k]
	switch v.Lock {
	case sent:
		try(k, lockRuns, func(w *world) {
			n := &w.Nodes[i]
			v := &n.Votes[k]
			v.Lock = out
			if ok, c := w.vote(n, k); ok {
				v.Lock, v.C = granted, c
			}
		})
	case granted:
		try(k, voteHeard, func(w *world) { w.hears(i, k) })
	case raised:
		try(k, raiseHeard, func(w *world) {
			w.Nodes[i].Votes[k].Lock = counts
			w.decide(k)
		})
	}
	if v.Given > 0 {
		try(k, raiseRuns, func(w *world) {
			v := &w.Nodes[i].Votes[k]
			ok := w.raise(&w.Nodes[i], k)
			switch {
			case v.Lock != raising:
			case ok:
				v.Lock = raised
			default:
				v.Lock = out
			}
		})
	}
	if v.Undo {
		try(k, unlockRuns, func(w *world) { w.Nodes[i].Votes[k].Undo = false; w.unlock(&w.Nodes[i], k) })
	}
	if s.Dup < m.Dup && v.Lock == sent && !v.Twin {
		try(k, lockDoubled, func(w *world) { w.Dup++; w.Nodes[i].Votes[k].Twin = true })
	}
	if v.Twin && v.Lock != sent {
		try(k, twinRuns, func(w *world) { w.Nodes[i].Votes[k].Twin = false; w.vote(&w.Nodes[i], k) })
	}
	switch v.Renew {
	case renewSent:
		try(k, renewRuns, func(w *world) { w.renew(&w.Nodes[i], k) })
	case renewedThere, lostThere, emptyThere:
		try(k, renewHeard, func(w *world) { w.hearsRenewal(i, k) })
	case repairSent:
		try(k, repairRuns, func(w *world) { w.repair(&w.Nodes[i], k) })
	}
	if v.Repair {
		try(k, repairHeard, func(w *world) {
			v := &w.Nodes[i].Votes[k]
			v.Repair = false
			if w.Tries[k].Phase == released { // it came too late
				v.Undo = true
			}
		})
	}
}

// nextAdmin is ReplaceQuorum: a majority of the old members is taken out of the
// old quorum, then the new ones are marked, and sit out.
func (m *Model) nextAdmin(s *State, try trier) {
	if !m.Replace {
		return
	}
	taken := 0
	for i := range s.Nodes[:m.Nodes] {
		if n := &s.Nodes[i]; n.Old && n.Mark != oldMark {
			taken++
		}
	}
	for i := range s.Nodes[:m.Nodes] {
		n := &s.Nodes[i]
		if n.Old && n.Mark == oldMark {
			try(nobody, fenced, func(w *world) { w.Nodes[i].Mark = fencedMark })
		}
		enough := taken >= m.need() || m.Mutant == ReplaceAtOnce
		if enough && n.New && n.Mark != newMark && (n.Mark != oldMark || m.Mutant == ReplaceAtOnce) {
			try(nobody, marked, func(w *world) {
				n := &w.Nodes[i]
				n.Mark, n.Out = newMark, w.m.SitOut
				if w.m.Mutant == ReplaceNoWait {
					n.Out = 0
				}
			})
		}
	}
}

// nextRestart is a node that dies and comes back, with what it had, without what
// it wrote last, or with nothing.
func (m *Model) nextRestart(i int, try trier) {
	gone := func(w *world) *Node {
		w.Restart++
		n := &w.Nodes[i]
		n.Restarted = true
		return n
	}
	if m.Keep {
		try(nobody, restartKeeps, func(w *world) { gone(w) })
	}
	if m.Forget {
		try(nobody, restartForgets, func(w *world) {
			n := gone(w)
			n.L, n.C, n.PX, n.F = 0, 0, 0, 0
		})
	}
	if m.Empty {
		try(nobody, restartEmpty, func(w *world) {
			n := gone(w)
			n.L, n.C, n.PX, n.F, n.Mark, n.Restarted = 0, 0, 0, 0, unmarked, false // nothing is left to notice it by
		})
	}
}

// tick is the passing of time, everywhere.
func tick(w *world) {
	if w.m.Rate > 0 {
		w.Now++
	}
	less := func(left *int8) { *left = max(*left-1, 0) }
	for i := range w.Nodes[:w.m.Nodes] {
		n := &w.Nodes[i]
		less(&n.Out)
		if n.L != 0 {
			if less(&n.PX); n.PX == 0 {
				w.note(expires)
				n.L, n.C = 0, 0
			}
		}
	}
	for k := range w.Tries {
		t := &w.Tries[k]
		if t.Phase == asking || t.Phase == holding {
			less(&t.Left)
		}
		if t.Since {
			t.Age = min(t.Age+1, w.m.TTL)
		}
	}
}

// settle forgets what no step can tell any more.
func settle(w *world) {
	for k := range w.m.Client {
		t := &w.Tries[k]
		if t.Phase == released {
			*t = Try{Phase: released, Used: t.Used}
		}
		for i := range w.Nodes[:w.m.Nodes] {
			settleVote(w, &w.Nodes[i], t, k)
		}
	}
}

func settleVote(w *world, n *Node, t *Try, k int) {
	v := &n.Votes[k]
	if t.Phase == holding && v.Lock >= heard {
		v.Lock = unsent
	}
	if t.Phase == released {
		switch {
		case v.Lock == granted: // it is heard now, or never
			w.note(lateVoteUndone)
			v.Lock, v.Undo = unsent, true
		case v.Lock != sent:
			v.Lock = unsent
		}
		if v.Renew >= renewedThere && v.Renew != repairSent {
			v.Renew = noRenewal
		}
	}
	if v.Lock < granted || v.Lock > counts {
		v.C = 0
	}
	if w.m.Mutant == OneID || w.m.Mutant == RaiseAnybody {
		return
	}
	if here := int(n.L) == k+1; !here {
		if v.Lock != sent && !v.Twin && v.Renew != repairSent { // L will not be the id again
			v.Undo = false
			if v.Renew == renewSent && t.Phase == released {
				v.Renew = noRenewal
			}
		}
		if v.Lock != raising {
			v.Given, v.Raise = 0, 0
		}
	}
}
