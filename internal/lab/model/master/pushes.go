package master

// arrive is an answer or a push that reaches its process.
func (w *world) arrive(i int) {
	m := w.take(i)
	p := m.to()
	switch m.Kind {
	case lockAns:
		w.lockAnswered(m)
	case unlockAns:
		w.unlockAnswered(m)
	case renewAns:
		w.renewAnswered(m)
	case cancelAns:
		w.errandDone(m.ID, m.Kind)
	case subscribeAns:
		w.confirmed(p)
	case grantPush:
		w.grantHeard(p, &m)
	case recallPush:
		w.recallHeard(p, &m)
	case nextPush:
		w.nextHeard(p, &m)
	}
}

// ended reports whether an id is none that the process holds or waits for: rule 3.
func (c *Proc) ended(i id) bool { return i != c.ID && i != c.Fresh && i != c.Over }

// heardOf: an ended id that is heard of has to go.
func (w *world) heardOf(i id) { w.P[i.proc()].Used[i.slot()] &^= unseen }

// grantHeard is wake.message of a grant.
func (w *world) grantHeard(p int, m *Msg) {
	if w.proc(p).ended(m.ID) {
		w.heardOf(m.ID)
		if w.m.Mutant == NoGhostCancel {
			return
		}
	}
	w.takes(m.ID, grant{m.Base, m.Size, m.X > 0, w.pushAge(p, m), w.m.window(), true, true})
}

// pushAge is tenure.pushStart: the least of what is known to be at least the age
// of a pushed grant.
func (w *world) pushAge(p int, m *Msg) int8 {
	c := w.proc(p)
	first, lag := c.First, c.Lag
	if m.ID == c.Fresh && m.ID != c.ID {
		first, lag = c.FreshFirst, -1
	}
	age := min(first, c.Subscribed)
	if lag >= 0 {
		age = min(age, lag+m.Age)
	}
	switch w.m.Mutant {
	case CountFromPush:
		return 0
	case CountFromRequestAhead:
		for k := range w.Net {
			if r := &w.Net[k]; r.ID == m.ID && (r.Kind == lockReq || r.Kind == lockAns) {
				age = min(age, r.Age)
			}
		}
	}
	return age
}

// recallHeard is wake.message of a recall: it may come before the grant.
func (w *world) recallHeard(p int, m *Msg) {
	c := w.proc(p)
	switch {
	case c.ended(m.ID):
		w.heardOf(m.ID)
		if w.m.Mutant == NoGhostCancel {
			return
		}
		w.note(ghostCancelled)
		w.cancelID(m.ID)
	case m.ID == c.ID && c.Phase == holding:
		w.note(recallHeard)
		w.recalled(p)
		w.act(p)
	case m.ID == c.ID && c.Phase <= queued:
		w.note(recallEarly)
		c.Early = true
	case m.ID == c.Fresh:
		w.note(recallEarly)
		c.EarlyToo = true
	}
}

// nextHeard is wake.nextIn.
func (w *world) nextHeard(p int, m *Msg) {
	c := w.proc(p)
	switch {
	case c.ended(m.ID):
		w.heardOf(m.ID)
		if w.m.Mutant == NoGhostCancel {
			return
		}
		w.note(ghostCancelled)
		w.cancelID(m.ID)
	case m.ID == c.ID && c.Phase == queued:
		w.note(nextHeard)
		c.Look = min(c.Look, m.X)
	}
}

// confirmed is wake.confirmed, rule 6: what was pushed before is asked for.
func (w *world) confirmed(p int) {
	c := w.proc(p)
	if c.Wake != opening {
		return
	}
	w.note(confirmed)
	c.Wake = up
	if c.Phase == queued {
		c.Keep, c.Listed = c.Score > 0, false
		if !w.asking(p) {
			w.sendLock(p)
		}
	}
	if c.Phase == holding && c.Left > 0 && !w.inNet(c.ID, renewReq, renewAns) {
		w.note(renews)
		w.sendRenew(p)
	}
	w.act(p)
}

// broke is wake.broke and the next attempt: what the old one still delivers is
// dropped.
func (w *world) broke(p int) {
	c := w.proc(p)
	w.note(noticesBreak)
	w.Sub[p] = false
	for k := range w.Net {
		m := &w.Net[k]
		if m.Kind == empty || m.to() != p {
			continue
		}
		if m.push() {
			*m = Msg{}
			continue
		}
		m.Flags &^= sure
	}
	w.subscribe(p)
	if c.Phase == queued {
		c.Look = min(c.Look, 1)
	}
	w.act(p)
}
