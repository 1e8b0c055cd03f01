package master

// life is what is known of an id's start: what local_name.go's functions of the same
// names do follows, for process p.

func (w *world) proc(p int) *Proc { return &w.P[p] }

// inNet reports whether a message about an id is under way, request or answer,
// whose sender has not given it up.
func (w *world) inNet(i id, request, answer uint8) bool {
	for k := range w.Net {
		m := &w.Net[k]
		if m.ID == i && (m.Kind == request || m.Kind == answer) && !m.has(late|echo) {
			return true
		}
	}
	return false
}

// asking: lock is in flight.
func (w *world) asking(p int) bool { return w.inNet(w.P[p].ID, lockReq, lockAns) }

// alloc makes a new id; 0: too many are still spoken of.
func (w *world) alloc(p int) id {
	for k, u := range w.P[p].Used {
		if u == 0 {
			w.P[p].Used[k] = known
			return idOf(p, k)
		}
	}
	return 0
}

// act is line.step: it does what is to be done now.
func (w *world) act(p int) {
	c := w.proc(p)
	if c.Dead || c.Frozen {
		return
	}
	if c.Callers == 0 && c.Phase <= queued {
		if c.ID != 0 {
			w.giveUp(p)
		}
		return
	}
	if c.ID == 0 {
		if c.ID = w.alloc(p); c.ID == 0 {
			return
		}
		c.Phase = asked
	}
	switch c.Phase {
	case asked:
		w.ask(p)
	case holding:
		w.serve(p)
	}
}

// giveUp is line.giveUp, rule 3.
func (w *world) giveUp(p int) {
	c := w.proc(p)
	i, may := c.ID, c.Waits || c.Failed || w.open(c.ID)
	w.note(givesUpID)
	c.reset()
	w.Ahead[p] = 0
	if may {
		w.cancelID(i)
	}
}

// open reports whether a lock has not been answered yet.
func (w *world) open(i id) bool {
	for k := range w.Net {
		if m := &w.Net[k]; m.ID == i && (m.Kind == lockReq || m.Kind == lockAns) && !m.has(echo) {
			return true
		}
	}
	return false
}

// ask is line.ask: the first lock, or the first that waits, rule 1.
func (w *world) ask(p int) {
	c := w.proc(p)
	switch {
	case w.asking(p):
	case c.Tried && c.Wake != up:
		w.want(p)
	default:
		w.sendLock(p)
	}
}

func (w *world) want(p int) {
	if c := w.proc(p); c.Wake == unwanted {
		w.note(wantsWake)
		w.subscribe(p)
	}
}

// subscribe begins an attempt, as wake.began: what was measured on the last
// subscription counts no more.
func (w *world) subscribe(p int) {
	c := w.proc(p)
	c.Wake, c.Subscribed = opening, 0
	c.Lag = -1
	w.send(Msg{Kind: subscribeReq, ID: idOf(p, 0)})
}

// sendLock is line.sendLock: it waits only while the subscription is confirmed.
func (w *world) sendLock(p int) {
	c := w.proc(p)
	m := Msg{Kind: lockReq, ID: c.ID}
	if c.Wake == up {
		m.Flags = waits | sure
		c.Waits = true
		if c.Keep {
			m.Score = c.Score
		}
		w.note(asksAndWaits)
	} else {
		w.note(asksByTry)
	}
	w.send(m)
}

// serve is line.serve.
func (w *world) serve(p int) {
	c := w.proc(p)
	switch {
	case c.Left == 0:
		w.expire(p)
	case c.Turn:
	case c.Callers == 0,
		c.Recalled && c.Serve == 0,
		c.Turned && !c.Heard:
		w.depart(p)
	case c.Left*3 < c.Life:
		w.topUp(p)
	default:
		w.give(p)
	}
}

// topUp is line.topUp, rule 8: a turn is not begun with little life left.
func (w *world) topUp(p int) {
	c := w.proc(p)
	switch {
	case w.inNet(c.ID, renewReq, renewAns):
	case c.Topped:
		w.note(tooSlow)
		c.Callers = 0
		w.depart(p)
	default:
		w.note(topsUp)
		c.Topped = true
		sendRenew(w, p)
	}
}

// give is line.give.
func (w *world) give(p int) {
	c := w.proc(p)
	token, ok := c.Tokens.take()
	if !ok {
		if !w.inNet(c.ID, renewReq, renewAns) {
			w.note(renews)
			sendRenew(w, p)
		}
		return
	}
	w.note(turnGiven)
	c.Callers--
	if c.Recalled {
		c.Serve--
	}
	c.Turn, c.Turned, c.Topped, c.Held = true, true, false, 0
	w.Idle = 0 // be the turn ever so short
	w.use(token, robbedOf(c))
}

// depart is line.depart: unlock, and a fresh id for those who are left.
func (w *world) depart(p int) {
	c := w.proc(p)
	c.Phase = leaving
	c.Fresh, c.FreshFirst, c.EarlyToo = 0, 0, false
	if c.Callers > 0 && c.Wake == up {
		if c.Fresh = c.ID; w.m.Mutant != SameIDAgain {
			c.Fresh = w.alloc(p)
		}
	}
	if c.Fresh != 0 {
		w.note(departsQueuesAgain)
	} else {
		w.note(departs)
	}
	w.sendUnlock(p)
}

func (w *world) sendUnlock(p int) {
	c := w.proc(p)
	m := Msg{Kind: unlockReq, ID: c.ID, Fresh: c.Fresh}
	if c.Wake == up {
		m.Flags = sure
	}
	w.send(m)
}

// departed is line.departed: the tenure is past, the fresh id goes on.
func (w *world) departed(p int) {
	c := w.proc(p)
	fresh, first, early := c.Fresh, c.FreshFirst, c.EarlyToo
	c.reset()
	c.Fresh, c.FreshFirst, c.EarlyToo = 0, 0, false
	if fresh != 0 {
		c.ID, c.Phase, c.First, c.Early, c.Waits = fresh, asked, first, early, true
	}
}

// expire is line.expire and retire, rule 5: L is left alone until the lease is
// released; without one the id is unlocked at once.
func (w *world) expire(p int) {
	c := w.proc(p)
	i := c.ID
	if c.Turn {
		if c.Over != 0 {
			return // one at a time: who is slow to see a deadline may be slower
		}
		w.note(deadlineInTurn)
		c.Turn, c.Over = false, i
		c.reset()
	} else {
		w.note(deadline)
		c.reset()
		w.owe(i, owesUnlock)
	}
	w.act(p)
}

// release is Process.Release.
func (w *world) release(p int) {
	c := w.proc(p)
	if c.Left == 0 {
		w.expire(p)
		return
	}
	w.note(releases)
	c.Turn, c.Held = false, 0
	w.act(p)
}

// recalled is line.recalled: it fixes the line.
func (w *world) recalled(p int) {
	if c := w.proc(p); !c.Recalled {
		c.Recalled, c.Serve = true, c.Callers
	}
}

// owe begins an errand: a clean-up that is repeated until it is answered.
func (w *world) owe(i id, what uint8) {
	c := w.proc(i.proc())
	u := &c.Used[i.slot()]
	request := cancelReq
	if what == owesUnlock {
		request = unlockReq
		*u |= owesUnlock
	} else if n := *u / owesCancel; n < 2 {
		*u += owesCancel
	}
	w.send(Msg{Kind: request, ID: i})
}

// cancelID is Process.cancelID. One that has yet to run serves for two.
func (w *world) cancelID(i id) {
	for k := range w.Net {
		if m := &w.Net[k]; m.Kind == cancelReq && m.ID == i && !m.has(echo|late|lost) {
			return
		}
	}
	w.owe(i, owesCancel)
}
