package master

// grant is what a process hears when it is made the holder. Age is how long ago
// its life began, by the process's own reckoning.
type grant struct {
	base, size int8
	waiting    bool
	age        int8
	life       int8
	heard      bool
	pushed     bool
}

// takes is Process.granted, rule 2.
func takes(w *world, i id, g grant) {
	p := i.proc()
	c := w.proc(p)
	switch {
	case i == c.Fresh && i != c.ID: // the unlock that queued it has run
		w.departed(p)
		begin(w, p, g)
	case i == c.ID && c.Phase <= queued:
		begin(w, p, g)
	case i == c.ID && c.Phase == holding:
		if c.Left == 0 {
			w.note(revivesNothing)
			break
		}
		w.note(prolongs)
		prolong(w, p, g.life-g.age, g.life)
		c.Tokens.add(g.base, g.size, w.m.Mutant == TokensAnew)
		c.Heard = c.Heard || g.heard
		if g.waiting {
			w.note(recallByCount)
			w.recalled(p)
		}
	case i == c.Over:
		return
	case w.m.Mutant == Revive && c.Phase <= queued && c.Callers > 0:
		c.ID, c.Phase = i, asked
		begin(w, p, g)
	case w.m.Mutant == NoLateCancel && !g.pushed:
		return
	default: // leaving or past
		w.note(ghostCancelled)
		w.cancelID(i)
		return
	}
	w.act(p)
}

// begin is line.begin, and rule 8.
func begin(w *world, p int, g grant) {
	c := w.proc(p)
	if g.age >= g.life {
		c.Waits = true
		w.note(overOnArrival)
		if c.Late++; c.Late > 1 {
			w.note(tooSlow)
			c.Callers = 0
			w.giveUp(p)
			return
		}
		if !w.asking(p) {
			w.sendLock(p)
		}
		return
	}
	w.note(begins)
	c.Phase, c.Heard, c.Late = holding, g.heard, 0
	prolong(w, p, g.life-g.age, g.life)
	c.Tokens.add(g.base, g.size, false)
	c.Score, c.Keep, c.Listed, c.Look = 0, false, false, 0
	if early := c.Early; g.waiting || early {
		w.note(recallByCount)
		w.recalled(p)
	}
	c.Early, c.Tried, c.Waits, c.Failed = false, false, false, false
}

// prolong is tenure.hold: a deadline never moves back.
func prolong(w *world, p int, left, life int8) {
	c := w.proc(p)
	if left > c.Left {
		c.Left, c.Life = left, life
		c.Due = w.m.renewEvery()
	}
	c.Gone = max(c.Gone, left)
}

// sendRenew is line.renew.
func sendRenew(w *world, p int) {
	c := w.proc(p)
	m := Msg{Kind: renewReq, ID: c.ID}
	if c.Tokens.wanted(w.m.Stride) {
		m.Flags = stride
	}
	if c.Wake == up {
		m.Flags |= sure
	}
	c.Gone, c.Due = max(c.Gone, w.m.TTL), 1
	w.send(m)
}

// lockAnswered is request.lockAnswered.
func lockAnswered(w *world, a Msg) {
	p := a.to()
	c := w.proc(p)
	age := a.Age
	if w.m.Mutant == CountFromAnswer {
		age = 0
	}
	switch {
	case a.Word == grantedWord:
		takes(w, a.ID, grant{a.Base, a.Size, a.X > 0, age, w.m.TTL, c.Wake == up && a.has(sure), false})
	case a.ID != c.ID || c.Phase > queued:
		leaves := a.ID == c.ID && c.Phase == leaving && w.m.Mutant != NoCancelWhileLeaving
		if a.Word == queuedWord && (leaves || endedIn(c, a.ID)) && w.m.Mutant != NoLateCancel {
			w.note(ghostCancelled)
			w.cancelID(a.ID) // given up before this answer came
		} else if a.Word == queuedWord && (c.Phase == holding || a.ID == c.Over) {
			c.Used[a.ID.slot()] |= unseen // L was over when it ran, or it ran before the grant: nobody can tell
		}
	case a.Word == heldWord:
		w.note(wasRefused)
		c.Tried = true
		c.Look = 1
		w.act(p)
	default:
		queuedAnswered(w, p, &a)
		w.act(p)
	}
}

// queuedAnswered is line.queued and lookAgain.
func queuedAnswered(w *world, p int, a *Msg) {
	c := w.proc(p)
	w.note(wasQueued)
	lonely := !a.has(listens) || a.has(inserted) && c.Listed
	c.Phase, c.Tried = queued, false
	if w.m.Break > 0 {
		c.Listed, c.Keep, c.Score = true, false, a.Score
	}
	fresh := c.Wake == up && a.has(sure)
	if fresh {
		c.Lag = a.Lag
	}
	if w.m.Timed {
		c.Look = a.X + a.Rank
		if lonely || c.Wake != up {
			c.Look = 1
		}
	}
	if c.Wake == up && !fresh { // the subscription is newer
		c.Keep, c.Listed, c.Look = c.Score > 0, false, 0
	}
}

// unlockAnswered is request.unlockAnswered, rule 4, and the end of an errand.
func unlockAnswered(w *world, a Msg) {
	p := a.to()
	c := w.proc(p)
	if a.ID != c.ID || c.Phase != leaving {
		w.errandDone(a.ID, a.Kind)
		return
	}
	if a.has(late) {
		return // an earlier one than is waited for
	}
	fresh := c.Fresh
	w.note(departed)
	w.departed(p)
	switch {
	case fresh == 0:
	case a.Word == grantedWord:
		age := a.Age
		if w.m.Mutant == CountFromAnswer {
			age = 0
		}
		takes(w, fresh, grant{a.Base, a.Size, a.X > 0, age, w.m.TTL, c.Wake == up && a.has(sure), false})
		return
	case a.Word == queuedWord:
		queuedAnswered(w, p, &a)
	case w.m.Mutant == FreshNotAsked:
		c.Phase, c.Look = queued, w.m.TTL*4
	}
	w.act(p)
}

// renewAnswered is request.renewAnswered.
func renewAnswered(w *world, a Msg) {
	p := a.to()
	c := w.proc(p)
	if a.ID != c.ID || c.Phase != holding {
		return
	}
	age := a.Age
	if w.m.Mutant == CountFromAnswer {
		age = 0
	}
	switch {
	case c.Left == 0 && w.m.Mutant != ReviveByRenewal:
		w.note(revivesNothing)
	case a.Word == renewedWord:
		w.note(renewed)
		if c.Left == 0 {
			violate(w, revived)
		}
		prolong(w, p, w.m.TTL-age, w.m.TTL)
		if a.Size > 0 {
			c.Tokens.add(a.Base, a.Size, w.m.Mutant == TokensAnew)
		}
		if c.Wake == up && a.has(sure) {
			c.Heard = true
		} else if c.Wake == up {
			c.Due = 0
		}
		if a.X > 0 {
			w.note(recallByCount)
			w.recalled(p)
		}
	default:
		w.note(learnsOfLoss)
		c.Turn = false
		c.reset()
	}
	w.act(p)
}
