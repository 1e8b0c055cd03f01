package master

import "github.com/holdfast-go/holdfast/internal/lab/model"

// world is a state in the middle of a step. Its queue stands in line.go.
type world struct {
	State
	m    *Model
	step model.Step
	cut  bool // the step does not fit into the bounds: it is not made
}

func (w *world) note(n model.Note) { w.step.Add(n) }

func (w *world) send(m Msg) {
	for i := range w.Net[:w.m.Net] {
		if w.Net[i].Kind == empty {
			w.Net[i] = m
			return
		}
	}
	w.cut = true
}

// take removes a message.
func (w *world) take(i int) Msg {
	m := w.Net[i]
	w.Net[i] = Msg{}
	return m
}

// run is a request reaching the server. Its answer goes back unless nobody is
// there who wants one.
func (w *world) run(i int) {
	r := w.take(i)
	a := Msg{ID: r.ID, Fresh: r.Fresh, Flags: r.Flags & (sure | late | stride), Age: r.Age}
	p := r.ID.proc()
	switch r.Kind {
	case lockReq:
		a.Kind = lockAns
		w.lock(&r, &a)
		if r.has(echo) {
			w.unheardOf(r.ID)
		}
	case unlockReq:
		a.Kind = unlockAns
		w.unlock(&r, &a)
	case cancelReq:
		a.Kind, a.Word = cancelAns, cancelledWord
		w.cancel(r.ID)
	case renewReq:
		a.Kind = renewAns
		w.renew(&r, &a)
	case subscribeReq:
		a.Kind = subscribeAns
		w.note(subscribed)
		if !w.P[p].Dead {
			w.Sub[p] = true
		}
	}
	switch c := &w.P[p]; {
	case r.has(echo) || c.Dead:
	case a.Kind == cancelAns && !r.has(late) || a.Kind == unlockAns && (a.ID != c.ID || c.Phase != leaving):
		w.errandDone(a.ID, a.Kind) // whenever its answer comes, it only ends the repeating
	default:
		w.send(a)
	}
}

// errandDone takes the answer of an errand.
func (w *world) errandDone(i id, kind uint8) {
	w.note(errandDone)
	u := &w.P[i.proc()].Used[i.slot()]
	switch {
	case kind == unlockAns:
		*u &^= owesUnlock
	case *u >= owesCancel:
		*u -= owesCancel
	}
}

// unheardOf notes a ghost of which its process gets no answer: it may stay, until
// something else is heard of it. docs/protocol.md says so.
func (w *world) unheardOf(i id) {
	c := &w.P[i.proc()]
	inL := w.L == i && i != c.Over && i != c.Fresh && (i != c.ID || c.Phase == leaving)
	inQ := place(w, i) >= 0 && i != c.Fresh && (i != c.ID || c.Phase > queued)
	if inL || inQ {
		c.Used[i.slot()] |= unseen
	}
}

// lock is mutex/lock.lua, for both modes.
func (w *world) lock(r, a *Msg) {
	queued := waiting(w)
	switch {
	case w.L == r.ID:
		w.note(lockOurs)
		w.PX = max(w.m.TTL, w.PX)
		w.Unclaimed = 0
		w.granted(a, queued, w.m.Mutant != SameStride)
		return
	case w.L == 0 && (queued == 0 || w.m.Mutant == NoLookAtQ):
		w.note(lockFree)
		hold(w, r.ID, w.m.TTL, 0)
		w.granted(a, queued, true)
		return
	case w.L != 0 && !r.has(waits):
		w.note(lockHeld)
		a.Word = heldWord
		return
	case w.L == 0 && !r.has(waits):
		chosen, following := survey(w, 0, 0)
		if chosen == 0 {
			w.note(lockTryAllDead)
			bury(w, 0)
			chosen = r.ID
		} else {
			w.note(lockTryHandsOver)
			a.Word = heldWord
		}
		if handNameOver(w, chosen, following, r.ID); a.Word == noWord {
			w.granted(a, waiting(w), true)
		}
		return
	}
	w.lockQueues(r, a)
}

// lockQueues is mutex/lock.lua for one that waits while another has the name, or
// stands in front.
func (w *world) lockQueues(r, a *Msg) {
	rank := place(w, r.ID)
	a.Word = queuedWord
	switch {
	case rank >= 0:
		w.note(lockQueuedAgain)
	case r.Score > 0:
		w.note(lockKeepsPlace)
		join(w, r.ID, r.Score)
		a.Flags |= inserted
	default:
		w.note(lockQueued)
		join(w, r.ID, 0)
		a.Flags |= inserted
	}
	if w.L == 0 {
		chosen, following := survey(w, r.ID, 0)
		handNameOver(w, chosen, following, r.ID)
		if chosen == r.ID {
			w.note(lockGrantedInTurn)
			a.Flags &^= inserted
			w.granted(a, waiting(w), true)
			return
		}
		w.note(lockHandsOver)
	}
	rank = place(w, r.ID)
	if rank == 0 {
		w.note(sendRecall)
		publish(w, Msg{Kind: recallPush, ID: w.L})
	}
	w.queued(a, r.ID, rank, r.Age)
}

// granted fills the answer. Strides begin above all that were reserved: the
// clock could only make the first token greater.
func (w *world) granted(a *Msg, waiting int, anew bool) {
	a.Word, a.X = grantedWord, int8(min(waiting, 1))
	if anew {
		a.Base, a.Size = w.reserve()
	} else {
		a.Base, a.Size = w.F-w.m.Stride+1, w.m.Stride
	}
}

func (w *world) queued(a *Msg, i id, rank int, age int8) {
	a.Word, a.X, a.Rank, a.Lag = queuedWord, w.PX, int8(min(rank, 1)), age
	if w.Sub[i.proc()] {
		a.Flags |= listens
	}
	if w.m.Break > 0 {
		a.Score = w.Score[rank]
	}
}

// reserve is part/reserve_tokens.lua and part/read_fence.lua.
func (w *world) reserve() (base, size int8) {
	base, size = w.F+1, w.m.Stride
	if w.m.Mutant != NoReserve {
		w.F += size
	}
	return base, size
}

// unlock is mutex/unlock.lua.
func (w *world) unlock(r, a *Msg) {
	if w.L != 0 && w.m.Mutant == NoIDCheck {
		w.L = r.ID
	}
	if w.L != r.ID {
		a.Word = notHeldWord
		if w.m.Mutant == NotHeldQueues && r.Fresh != 0 && place(w, r.Fresh) < 0 {
			join(w, r.Fresh, 0)
		}
		if w.L == 0 && waiting(w) > 0 {
			w.note(unlockMovesLine)
			chosen, following := survey(w, 0, 0)
			handNameOver(w, chosen, following, 0)
			return
		}
		w.note(unlockNotHeld)
		return
	}
	chosen, following := survey(w, r.Fresh, 0)
	if r.Fresh == 0 {
		w.note(unlockReleased)
		handNameOver(w, chosen, following, 0)
		a.Word = releasedWord
		return
	}
	if chosen != 0 && chosen != r.Fresh && place(w, r.Fresh) < 0 {
		join(w, r.Fresh, 0)
	}
	if chosen == 0 {
		chosen = r.Fresh
	}
	handNameOver(w, chosen, following, r.Fresh)
	if chosen == r.Fresh {
		w.note(unlockGrantsFresh)
		w.granted(a, waiting(w), true)
		return
	}
	w.note(unlockQueuesFresh)
	a.Flags |= inserted
	w.queued(a, r.Fresh, place(w, r.Fresh), r.Age)
}

// cancel is mutex/cancel.lua.
func (w *world) cancel(i id) {
	rank, free := place(w, i), w.L == 0 || w.L == i
	if !free && rank != 0 {
		if rank < 0 {
			w.note(cancelNothing)
		} else {
			w.note(cancelRemoved)
			leave(w, i)
		}
		return
	}
	chosen, following := survey(w, 0, i)
	leave(w, i)
	switch w.L {
	case i:
		w.note(cancelEndsHolder)
		handNameOver(w, chosen, following, 0)
	case 0:
		w.note(cancelFree)
		handNameOver(w, chosen, following, 0)
	default:
		w.note(cancelTellsHead)
		bury(w, chosen)
		if chosen != 0 {
			w.note(sendNext)
			publish(w, Msg{Kind: nextPush, ID: chosen, X: w.PX})
		}
	}
}

// renew is mutex/renew.lua, without orders and least lives.
func (w *world) renew(r, a *Msg) {
	if w.L == 0 && w.m.Mutant == Recreate {
		hold(w, r.ID, w.m.TTL, 0)
	}
	if w.L != r.ID {
		w.note(renewLost)
		a.Word = lostWord
		return
	}
	w.note(renewRenewed)
	w.PX, w.Unclaimed = w.m.TTL, 0
	a.Word, a.X = renewedWord, int8(min(waiting(w), 1))
	if r.has(stride) {
		a.Base, a.Size = w.reserve()
	}
}

// use hands out a token. All others are counted from it from now on. Who was
// robbed and does not know it yet may use one that is below: that is what a
// resource looks at tokens for.
func (w *world) use(token int8, robbed bool) {
	if token <= 0 {
		if !robbed {
			violate(w, tokenFell)
		}
		return
	}
	w.F -= token
	for p := range w.P {
		t := &w.P[p].Tokens
		t.Next, t.End = shift(t.Next, t.End, token)
		t.Spare, t.SpareEnd = shift(t.Spare, t.SpareEnd, token)
	}
	for k := range w.Net {
		if m := &w.Net[k]; m.Size > 0 {
			from, end := shift(m.Base, m.Base+m.Size, token)
			m.Base, m.Size = from, end-from
		}
	}
}

// shift counts a stride from a newer token. What lies below is one: it must not
// be used. A stride that has tokens keeps one.
func shift(from, end, by int8) (int8, int8) {
	if from == end {
		from = max(from-by, oldest)
		return from, from
	}
	from, end = max(from-by, oldest), max(end-by, oldest)
	return from, max(end, from+1)
}

// add is tokens.add.
func (t *tokens) add(base, size int8, anew bool) {
	end := base + size
	if !anew {
		base = max(base, t.Next, t.End)
	} else if size > 0 {
		t.Next, t.End = base, base
	}
	switch {
	case base >= end:
	case t.Next == t.End && t.Spare == t.SpareEnd:
		t.Next, t.End = base, end
	case t.Spare == t.SpareEnd:
		t.Spare, t.SpareEnd = base, end
	}
}

// take is tokens.take.
func (t *tokens) take() (token int8, ok bool) {
	if t.Next == t.End && t.Spare < t.SpareEnd {
		t.Next, t.End, t.Spare, t.SpareEnd = t.Spare, t.SpareEnd, oldest, oldest
	}
	if t.Next == t.End {
		return 0, false
	}
	t.Next++
	return t.Next - 1, true
}

// wanted is tokens.wanted: whether a renewal asks for a stride.
func (t *tokens) wanted(size int8) bool {
	return t.Spare >= t.SpareEnd && t.End-t.Next <= size/2
}

// rankTokens closes gaps between strides: tokens that nobody has or will have.
func (w *world) rankTokens() {
	var at [2 + 4*maxProcs + 2*maxNet]*int8
	n := 0
	put := func(t *int8) { at[n] = t; n++ }
	put(&w.F)
	for p := range w.P[:w.m.Procs] {
		t := &w.P[p].Tokens
		put(&t.Next)
		put(&t.End)
		put(&t.Spare)
		put(&t.SpareEnd)
	}
	var ends [maxNet]int8
	for k := range w.Net {
		if m := &w.Net[k]; m.Size > 0 {
			ends[k] = m.Base + m.Size
			put(&m.Base)
			put(&ends[k])
		}
	}
	var present [128]bool
	for _, t := range at[:n] {
		present[max(*t, 0)] = true
	}
	var to [128]int8
	last := 0
	for v := 1; v < len(to); v++ {
		if present[v] {
			to[v] = to[last] + min(int8(v-last), w.m.Stride)
			last = v
		}
	}
	for _, t := range at[:n] {
		if *t > 0 {
			*t = to[*t]
		}
	}
	for k := range w.Net {
		if m := &w.Net[k]; m.Size > 0 {
			m.Size = ends[k] - m.Base
		}
	}
}
