package master

import "github.com/holdfast-go/holdfast/internal/lab/model"

// Labels names what steps do.
func (m *Model) Labels() []string { return labels[:] }

// Next gives all that can happen: a message arrives, a process does what it may
// do by itself, something fails, time passes.
func (m *Model) Next(s *State, emit func(model.Step, *State)) {
	if s.Bad != 0 {
		return
	}
	// try makes a step of its own copy.
	try := func(who int, first model.Note, do func(w *world)) {
		w := world{State: *s, m: m}
		w.step.Who = uint8(who)
		if first != noteCount {
			w.note(first)
		}
		do(&w)
		if w.cut || w.State == *s {
			return
		}
		settle(&w)
		emit(w.step, &w.State)
	}
	m.nextMessages(s, try)
	for p := range m.Procs {
		if c := &s.P[p]; !c.Dead {
			m.nextProc(s, p, try)
		}
	}
	if s.Evict < m.Evict && s.L != 0 {
		try(server, evict, evictQueue)
	}
	if m.mayTick(s) {
		try(server, tickNote, tick)
	}
}

// server is who takes steps that are no process's.
const server = maxProcs

type trier func(who int, first model.Note, do func(w *world))

func (m *Model) nextMessages(s *State, try trier) {
	for i := range s.Net[:m.Net] {
		msg := &s.Net[i]
		if msg.Kind == empty {
			break
		}
		if i > 0 && *msg == s.Net[i-1] {
			continue // the same again
		}
		p := msg.to()
		if !msg.has(lost) {
			switch {
			case msg.request():
				try(p, noteCount, func(w *world) { w.run(i) })
			case !s.P[p].Frozen:
				try(p, noteCount, func(w *world) { arrive(w, i) })
			}
			m.nextFaults(s, i, try)
		}
		if !msg.push() && !msg.has(echo|late) && !s.P[p].Dead && !s.P[p].Frozen {
			m.nextGivenUp(s, i, try)
		}
	}
}

// nextFaults loses and doubles a message.
func (m *Model) nextFaults(s *State, i int, try trier) {
	msg := &s.Net[i]
	if s.Lose < m.Lose {
		what := losePush
		if msg.request() {
			what = loseRequest
		} else if !msg.push() {
			what = loseAnswer
		}
		try(msg.to(), what, func(w *world) {
			w.Lose++
			if msg := &s.Net[i]; msg.Kind == lockAns && msg.has(late) {
				w.unheardOf(msg.ID)
			}
			if msg := &w.Net[i]; msg.push() || msg.has(echo|late) || w.P[msg.to()].Dead {
				w.take(i)
			} else {
				msg.Flags |= lost
			}
		})
	}
	if m.Timed && s.Delay < m.Delay && !msg.has(slow|late|echo) && msg.Kind != subscribeReq && msg.Kind != subscribeAns {
		try(msg.to(), delayMessage, func(w *world) { w.Delay++; w.Net[i].Flags |= slow })
	}
	if s.Dup < m.Dup && !msg.has(echo) && (msg.push() || msg.request() && msg.Kind != subscribeReq) {
		what := doublePush
		if msg.request() {
			what = doubleRequest
		}
		try(msg.to(), what, func(w *world) {
			w.Dup++
			twin := w.Net[i]
			if twin.request() {
				twin.Flags |= echo
			}
			w.send(twin)
		})
	}
}

// nextGivenUp is a sender that waits for an answer no longer: it is lost, or it
// may come all the same.
func (m *Model) nextGivenUp(s *State, i int, try trier) {
	msg := &s.Net[i]
	if msg.has(lost) {
		if m.Timed && msg.Age < m.RTO {
			return
		}
		try(msg.to(), noteCount, func(w *world) { unanswered(w, w.take(i)) })
		return
	}
	if (m.Timed && msg.has(slow) && msg.Age >= m.RTO || !m.Timed && s.Delay < m.Delay) && msg.Kind != subscribeReq && msg.Kind != subscribeAns {
		try(msg.to(), giveUpRequest, func(w *world) {
			if !m.Timed {
				w.Delay++
			}
			w.Net[i].Flags |= late
			unanswered(w, w.Net[i])
		})
	}
}

// unanswered: a request has failed, as its sender sees it. It sends it again.
func unanswered(w *world, m Msg) {
	p := m.to()
	c := w.proc(p)
	switch m.Kind {
	case lockReq, lockAns:
		if endedIn(c, m.ID) || m.ID == c.ID && c.Phase == leaving && w.m.Mutant != NoCancelWhileLeaving {
			w.cancelID(m.ID) // it may have run after its cancel or unlock
			return
		}
		if m.ID == c.ID && c.Phase <= queued {
			c.Failed = true
			w.note(asksAgain)
			if !w.asking(p) {
				w.sendLock(p)
			}
		}
	case unlockReq, unlockAns:
		if m.ID == c.ID && c.Phase == leaving {
			w.note(unlockAgain)
			w.sendUnlock(p)
		} else if c.Used[m.ID.slot()]&owesUnlock != 0 {
			w.note(cancelAgain)
			w.send(Msg{Kind: unlockReq, ID: m.ID})
		}
	case cancelReq, cancelAns:
		w.note(cancelAgain)
		w.send(Msg{Kind: cancelReq, ID: m.ID})
	case renewReq, renewAns:
		w.act(p)
	case subscribeReq, subscribeAns:
		w.note(subscribesAgain)
		broke(w, p)
	}
}

// nextProc is what a process does, or suffers, by itself.
func (m *Model) nextProc(s *State, p int, try trier) {
	c := &s.P[p]
	if s.Crash < m.Crash {
		try(p, crash, func(w *world) { crashServer(w, p) })
	}
	if m.Timed && c.Frozen {
		try(p, thaw, func(w *world) { w.P[p].Frozen = false })
		return
	}
	if m.Timed && s.Freeze < m.Freeze {
		try(p, freeze, func(w *world) { w.Freeze++; w.P[p].Frozen = true })
	}
	if s.Break < m.Break && s.Sub[p] && c.Wake == up {
		try(p, dropSubscription, func(w *world) { w.Break++; w.Sub[p] = false; w.Ahead[p] = 0 })
	}
	if c.Wake == up && !s.Sub[p] {
		try(p, noteCount, func(w *world) { broke(w, p) })
	}
	if (m.Callers == 0 || int(c.Come) < m.Callers) && int(c.Callers) < m.Line {
		try(p, callerComes, func(w *world) { caller(w, p) })
	}
	if m.GiveUp && c.Callers > 0 {
		try(p, callerGivesUp, func(w *world) {
			c := w.proc(p)
			c.Callers--
			c.Serve = min(c.Serve, c.Callers)
			w.act(p)
		})
	}
	if c.Turn {
		try(p, noteCount, func(w *world) { w.release(p) })
	}
	if c.Over != 0 {
		try(p, releasesOver, func(w *world) { releaseOver(w, p) })
	}
	try(p, noteCount, func(w *world) { w.act(p) })
	m.nextTimers(s, p, try)
}

// nextTimers are the line's timers. Where nothing is timed they fire when they
// like.
func (m *Model) nextTimers(s *State, p int, try trier) {
	c := &s.P[p]
	switch c.Phase {
	case queued:
		if (!m.Timed || c.Look == 0) && m.Mutant != TrustGrants {
			try(p, noteCount, func(w *world) {
				if !w.asking(p) {
					w.note(asksAgain)
					w.sendLock(p)
				}
			})
		}
	case holding:
		if c.Left > 0 && (!m.Timed || c.Due == 0) {
			try(p, noteCount, func(w *world) {
				if !w.inNet(c.ID, renewReq, renewAns) {
					w.note(renews)
					sendRenew(w, p)
				}
			})
		}
	case leaving:
		if c.Gone == 0 {
			try(p, goneBeforeAnswer, func(w *world) {
				w.unheardOf(w.P[p].ID) // it lives on for as long as the request took to get there
				w.departed(p)
				w.act(p)
			})
		}
	}
}

// evictQueue is an accident: DEL, eviction, FLUSHALL but for F. Who holds the name, or
// is about to hear that it does, is promised nothing.
func evictQueue(w *world) {
	w.Evict++
	w.P[w.L.proc()].Used[w.L.slot()] |= robbed
	w.L, w.PX, w.Unclaimed = 0, 0, 0
}

// caller is Process.Enter.
func caller(w *world, p int) {
	c := w.proc(p)
	if w.m.Callers > 0 {
		c.Come++
	}
	c.Callers++
	if c.Turn || c.Callers > 1 {
		w.want(p) // before a second turn is given
	}
	w.act(p)
}

func releaseOver(w *world, p int) {
	c := w.proc(p)
	i := c.Over
	c.Over = 0
	w.owe(i, owesUnlock)
	w.act(p)
}

// crashServer ends a process. What it sent is still under way; nobody hears it.
func crashServer(w *world, p int) {
	w.Crash++
	w.Sub[p], w.Ahead[p] = false, 0
	w.P[p] = Proc{Dead: true, Come: w.P[p].Come}
	w.P[p].reset()
	for k := range w.Net {
		if m := &w.Net[k]; m.Kind != empty && m.to() == p {
			if !m.request() || m.has(lost) || m.Kind == subscribeReq {
				*m = Msg{}
			} else {
				m.Flags = m.Flags&(waits|stride) | echo
			}
		}
	}
}

// tick is the passing of one unit of time, on the server and everywhere: clocks
// of the same rate. What is long past is one.
func tick(w *world) {
	old := w.m.TTL
	older := func(age *int8) { *age = min(*age+1, old) }
	less := func(left *int8) { *left = max(*left-1, 0) }
	if w.L != 0 {
		if less(&w.PX); w.PX == 0 {
			w.note(expired)
			w.L, w.Unclaimed = 0, 0
		} else if w.Unclaimed > 0 {
			w.Unclaimed++
		}
	}
	for k := range w.Net {
		if m := &w.Net[k]; m.Kind != empty {
			older(&m.Age)
			if w.m.Timed {
				m.Hop = min(m.Hop+1, w.m.Hop)
			}
		}
	}
	for p := range w.P[:w.m.Procs] {
		c := &w.P[p]
		if c.Dead {
			continue
		}
		less(&c.Left)
		less(&c.Gone)
		if c.Phase != none {
			older(&c.First)
		}
		if c.Fresh != 0 {
			older(&c.FreshFirst)
		}
		if c.Wake != unwanted {
			older(&c.Subscribed)
		}
		if w.m.Timed {
			less(&c.Look)
			less(&c.Due)
			if c.Turn {
				c.Held = min(c.Held+1, w.m.Hold)
			}
		}
	}
	if w.m.Timed {
		watch(w)
	}
}

// mayTick: in timed bounds time stands still until all is done that is due.
func (m *Model) mayTick(s *State) bool {
	if !m.Timed {
		return true
	}
	for k := range s.Net {
		msg := &s.Net[k]
		if msg.Kind == empty {
			break
		}
		c := &s.P[msg.to()]
		deaf := c.Dead || c.Frozen
		switch {
		case msg.has(lost):
			if msg.Age >= m.RTO && !deaf {
				return false
			}
		case msg.has(late) || msg.has(echo):
		case msg.has(slow):
			if msg.Age >= m.RTO && !msg.push() && !deaf {
				return false
			}
		case msg.Hop >= m.Hop && (msg.request() || !deaf):
			return false
		}
	}
	for p := range m.Procs {
		if c := &s.P[p]; !c.Dead && !c.Frozen && m.due(s, p) {
			return false
		}
	}
	return true
}

// due reports whether a process has something to do now.
func (m *Model) due(s *State, p int) bool {
	c := &s.P[p]
	w := world{State: *s, m: m}
	switch {
	case c.Turn && c.Held >= m.Hold, c.Over != 0 && c.Left == 0,
		c.Turn && c.Left == 0,
		c.Wake == up && !s.Sub[p],
		c.Phase == leaving && c.Gone == 0:
		return true
	case c.Phase == queued && c.Look == 0 && m.Mutant != TrustGrants && !w.asking(p),
		c.Phase == holding && c.Due == 0 && c.Left > 0 && !w.inNet(c.ID, renewReq, renewAns):
		return true
	}
	w.act(p)
	return w.State != *s && !w.cut
}

// renewEvery is a third of a life, as renew.go has it.
func (m *Model) renewEvery() int8 {
	if !m.Timed {
		return 0
	}
	return max(1, m.TTL/3)
}

// watch counts how long process 0 has waited, and how long nobody has worked
// though somebody waits who could.
func watch(w *world) {
	c := &w.P[0]
	if c.Dead || c.Callers == 0 || c.Frozen || c.Turn {
		w.Waited = 0
	} else if w.m.Wait > 0 && w.Waited < w.m.Wait+1 {
		if w.Waited++; w.Waited > w.m.Wait {
			violate(w, starved)
		}
	}
	if w.m.Idle == 0 {
		return
	}
	works, waits := false, false
	for p := range w.P[:w.m.Procs] {
		c := &w.P[p]
		works = works || c.Turn && !c.Dead && c.Left > 0
		waits = waits || c.Callers > 0 && !c.Dead && !c.Frozen
	}
	if works || !waits {
		w.Idle = 0
	} else if w.Idle++; w.Idle > w.m.Idle {
		violate(w, stuck)
	}
}
