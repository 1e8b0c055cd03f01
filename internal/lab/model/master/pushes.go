package master

// arrive is an answer or a push that reaches its process.
func arrive(w *world, i int) {
	m := w.take(i)
	p := m.to()
	switch m.Kind {
	case lockAns:
		lockAnswered(w, m)
	case unlockAns:
		unlockAnswered(w, m)
	case renewAns:
		renewAnswered(w, m)
	case cancelAns:
		w.errandDone(m.ID, m.Kind)
	case subscribeAns:
		confirm(w, p)
	case grantPush:
		hearGrant(w, p, &m)
	case recallPush:
		hearRecall(w, p, &m)
	case nextPush:
		hearNext(w, p, &m)
	}
}

// endedIn reports whether an id is none that the process holds or waits for: rule 3.
func endedIn(c *Proc, i id) bool { return i != c.ID && i != c.Fresh && i != c.Over }

// heardOf: an ended id that is heard of has to go.
func heardOf(w *world, i id) { w.P[i.proc()].Used[i.slot()] &^= unseen }

// hearGrant is wake.message of a grant.
func hearGrant(w *world, p int, m *Msg) {
	if endedIn(w.proc(p), m.ID) {
		heardOf(w, m.ID)
		if w.m.Mutant == NoGhostCancel {
			return
		}
	}
	takes(w, m.ID, grant{m.Base, m.Size, m.X > 0, pushAge(w, p, m), w.m.window(), true, true})
}

// pushAge is tenure.pushStart: the least of what is known to be at least the age
// of a pushed grant.
func pushAge(w *world, p int, m *Msg) int8 {
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

// hearRecall is wake.message of a recall: it may come before the grant.
func hearRecall(w *world, p int, m *Msg) {
	c := w.proc(p)
	switch {
	case endedIn(c, m.ID):
		heardOf(w, m.ID)
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

// hearNext is wake.nextIn.
func hearNext(w *world, p int, m *Msg) {
	c := w.proc(p)
	switch {
	case endedIn(c, m.ID):
		heardOf(w, m.ID)
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

// confirm is wake.confirmed, rule 6: what was pushed before is asked for.
func confirm(w *world, p int) {
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
		sendRenew(w, p)
	}
	w.act(p)
}

// broke is wake.broke and the next attempt: what the old one still delivers is
// dropped.
func broke(w *world, p int) {
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
