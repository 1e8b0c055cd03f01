package master

// tick is the passing of one unit of time, on the server and everywhere: clocks
// of the same rate. What is long past is one.
func (w *world) tick() {
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
		w.watch()
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
func (w *world) watch() {
	c := &w.P[0]
	if c.Dead || c.Callers == 0 || c.Frozen || c.Turn {
		w.Waited = 0
	} else if w.m.Wait > 0 && w.Waited < w.m.Wait+1 {
		if w.Waited++; w.Waited > w.m.Wait {
			w.violate(starved)
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
		w.violate(stuck)
	}
}
