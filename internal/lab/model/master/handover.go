package master

// survey is that of part/hand_over.lua: the first that lives and the next one. The id
// mine counts as living, gone as dead. It never sees 500 dead here.
func survey(w *world, mine, gone id) (chosen, following id) {
	for _, i := range w.Q {
		switch {
		case i == 0:
			return chosen, following
		case i == gone || i != mine && !w.Sub[i.proc()] && w.m.Mutant != BlindSurvey:
		case chosen == 0:
			chosen = i
		default:
			return chosen, i
		}
	}
	return chosen, following
}

// bury takes out of Q all that stand before one: survey found them dead. Before
// nobody: all.
func bury(w *world, before id) {
	for w.Q[0] != 0 && w.Q[0] != before {
		w.note(skipDead)
		leave(w, w.Q[0])
	}
}

// handNameOver is that of part/hand_over.lua.
func handNameOver(w *world, chosen, following, mine id) {
	if place(w, chosen) >= 0 || chosen == 0 {
		bury(w, chosen)
	} else {
		bury(w, 0) // mine, which does not stand there: all others are dead
	}
	if chosen == 0 {
		w.L, w.PX, w.Unclaimed = 0, 0, 0
		return
	}
	leave(w, chosen)
	if chosen == mine {
		hold(w, chosen, w.m.TTL, 0)
		return // its stride is that of the answer
	}
	w.note(handOver)
	px := w.m.window()
	hold(w, chosen, px, 1)
	if w.P[chosen.proc()].Dead {
		violate(w, deadChosen)
	}
	base, size := w.reserve()
	if following != 0 && following != mine {
		w.note(sendNext)
		publish(w, Msg{Kind: nextPush, ID: following, X: px})
	}
	publish(w, Msg{Kind: grantPush, ID: chosen, Base: base, Size: size, X: int8(min(waiting(w), 1))})
}

// hold makes an id the holder, and counts who is overtaken.
func hold(w *world, i id, px, unclaimed int8) {
	w.L, w.PX, w.Unclaimed = i, px, unclaimed
	for p := range w.Ahead {
		if w.Ahead[p] == 0 {
			continue
		}
		if i.proc() == p {
			w.Ahead[p] = 0
		} else if w.Ahead[p]--; w.Ahead[p] == 0 {
			violate(w, overtaken)
		}
	}
}

// publish is that of part/notify.lua. Who does not listen hears nothing.
func publish(w *world, m Msg) {
	if !w.Sub[m.to()] {
		w.note(unheard)
		return
	}
	if m.Kind != grantPush {
		for k := range w.Net {
			if o := &w.Net[k]; o.Kind == m.Kind && o.ID == m.ID {
				o.X = m.X
				return // the same again: one says as much as two
			}
		}
	}
	w.send(m)
}

func waiting(w *world) int {
	for n, i := range w.Q {
		if i == 0 {
			return n
		}
	}
	return maxQueue
}

// place is where an id stands in Q, or -1.
func place(w *world, i id) int {
	for k, q := range w.Q {
		if q == i && i != 0 {
			return k
		}
	}
	return -1
}

// join is ZADD NX: at the tail, or at the arrival that it kept.
func join(w *world, i id, score int8) {
	n := waiting(w)
	if n == maxQueue {
		w.cut = true
		return
	}
	if score == 0 {
		score = newest(w) + 1
	}
	at := n
	for at > 0 && w.Score[at-1] > score {
		at--
	}
	copy(w.Q[at+1:n+1], w.Q[at:n])
	copy(w.Score[at+1:n+1], w.Score[at:n])
	w.Q[at] = i
	if w.m.Break > 0 {
		w.Score[at] = score
	}
	p := i.proc()
	if c := &w.P[p]; w.m.Break == 0 && w.Ahead[p] == 0 && (i == c.ID && c.Phase <= queued || i == c.Fresh) && w.Sub[p] && !c.Dead {
		w.Ahead[p] = int8(at + 1)
	}
}

// newest is the greatest arrival that anybody knows of.
func newest(w *world) int8 {
	top := int8(0)
	for _, s := range w.Score {
		top = max(top, s)
	}
	for p := range w.P {
		top = max(top, w.P[p].Score)
	}
	for i := range w.Net {
		top = max(top, w.Net[i].Score)
	}
	return top
}

// leave is ZREM.
func leave(w *world, i id) {
	at := place(w, i)
	if at < 0 {
		return
	}
	copy(w.Q[at:], w.Q[at+1:])
	copy(w.Score[at:], w.Score[at+1:])
	w.Q[maxQueue-1], w.Score[maxQueue-1] = 0, 0
	if c := &w.P[i.proc()]; w.L != i && (i == c.ID || i == c.Fresh) {
		w.Ahead[i.proc()] = 0 // dead, or given up: hold follows where it is granted
	}
}
