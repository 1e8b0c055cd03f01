package quorum

// begin is quorum.ask: a new id, and lock to all nodes.
func (w *world) begin(try int) {
	t := &w.Tries[try]
	t.Phase, t.Left = asking, w.m.TTL
	for i := range w.Nodes[:w.m.Nodes] {
		if n := &w.Nodes[i]; w.m.member(n, try) {
			n.Votes[try].Lock = sent
		}
	}
}

// hears is ballot.answered for a vote, ballot.tally and ballot.count; when all is
// over, settle has it, by rule 3.
func (w *world) hears(i, try int) {
	t, v := &w.Tries[try], &w.Nodes[i].Votes[try]
	if t.Phase == holding {
		v.Lock = unsent
		return // glad of one more node
	}
	v.Lock = heard
	if t.T == 0 {
		if w.number(try, heard) < w.m.need() {
			return
		}
		w.note(majority)
		t.T = w.token(try)
	}
	for k := range w.Nodes[:w.m.Nodes] {
		if v := &w.Nodes[k].Votes[try]; v.Lock == heard {
			w.count(v, t)
		}
	}
	w.decide(try)
}

// token is T: the largest c of the first majority.
func (w *world) token(try int) int8 {
	least, most := int8(127), int8(0)
	for k := range w.Nodes[:w.m.Nodes] {
		if v := &w.Nodes[k].Votes[try]; v.Lock == heard {
			least, most = min(least, v.C), max(most, v.C)
		}
	}
	if w.m.Mutant == LeastToken {
		return least
	}
	return most
}

// count is ballot.count, rules 4 and 5.
func (w *world) count(v *Vote, t *Try) {
	switch {
	case v.C > t.T && w.m.Mutant != LeastToken:
		w.note(gaveMore)
		v.Lock = out
	case v.C == t.T || w.m.Mutant == NoRaise || w.m.Mutant == LeastToken:
		v.Lock = counts
	default:
		w.note(raiseSent)
		v.Lock, v.Given, v.Raise = raising, v.C, t.T
		if w.m.Mutant == RaiseUnanswered {
			v.Lock = counts
		}
	}
}

// number counts the nodes where a try's lock stands so.
func (w *world) number(try int, stand uint8) (n int) {
	for k := range w.Nodes[:w.m.Nodes] {
		if w.Nodes[k].Votes[try].Lock == stand {
			n++
		}
	}
	return n
}

// decide is ballot.decide, and the floor of rule 16.
func (w *world) decide(try int) {
	t := &w.Tries[try]
	if t.Phase != asking || w.number(try, counts) < w.m.need() {
		return
	}
	if w.m.Mutant == CountFromAnswer {
		t.Left = w.m.TTL
	}
	if t.Left == 0 {
		w.note(tooLate)
		w.end(try)
		return
	}
	w.note(won)
	t.Phase = holding
}

// end undoes a try on all nodes that may have it, rule 3.
func (w *world) end(try int) {
	w.Tries[try].Phase = released
	for k := range w.Nodes[:w.m.Nodes] {
		n := &w.Nodes[k]
		v := &n.Votes[try]
		v.Undo = w.m.member(n, try) && v.Lock != out
		if v.Renew != renewSent && v.Renew != repairSent {
			v.Renew = noRenewal
		}
		if v.Lock != sent && v.Lock != granted {
			v.Lock = unsent
		}
	}
}

// turn gives a token.
func (w *world) turn(try int) {
	t := &w.Tries[try]
	token := t.T + t.Turns
	t.Turns++
	if w.m.Loose { // grants are in no order then
		for k := range w.Tries {
			if u := w.Tries[k].Used; k != try && u > 0 && token >= u && token < u+w.m.Turns {
				violate(w, tokenTwice)
			}
		}
		t.Used = t.T
		return
	}
	if token <= w.Newest {
		violate(w, tokenFell)
	}
	w.Newest = max(w.Newest, token)
}

// renews is quorum.renew: a renewal to every node.
func (w *world) renews(try int) {
	t := &w.Tries[try]
	t.Since, t.Age = true, 0
	t.Times++
	for k := range w.Nodes[:w.m.Nodes] {
		if n := &w.Nodes[k]; w.m.member(n, try) {
			n.Votes[try].Renew = renewSent
		}
	}
}

// hearsRenewal is renewal.answered.
func (w *world) hearsRenewal(i, try int) {
	t, v := &w.Tries[try], &w.Nodes[i].Votes[try]
	if t.Phase != holding {
		v.Renew = noRenewal
		return
	}
	v.Renew += renewedHeard - renewedThere
	if !t.Since { // a majority has renewed already
		w.mend(try)
		return
	}
	renewed, lost := 0, 0
	for k := range w.Nodes[:w.m.Nodes] {
		switch w.Nodes[k].Votes[try].Renew {
		case renewedHeard:
			renewed++
		case lostHeard, emptyHeard:
			lost++
		}
	}
	need := w.m.need()
	if w.m.Mutant == MinorityRenews {
		need--
	}
	switch {
	case renewed >= need:
		t.Since = false
		if t.Left == 0 {
			return // never revived
		}
		w.note(renewalHeard)
		t.Left = max(t.Left, w.m.TTL-t.Age)
		w.mend(try)
	case lost >= w.m.need():
		w.note(leaseLost)
		w.end(try)
	}
}

// mend is renewal.repair: a node that lacks the lock gets it from the majority.
func (w *world) mend(try int) {
	if t := &w.Tries[try]; !w.m.Repair || t.Left == 0 {
		return
	}
	for k := range w.Nodes[:w.m.Nodes] {
		if v := &w.Nodes[k].Votes[try]; v.Renew == emptyHeard {
			w.note(repairIsSent)
			v.Renew = repairSent
		}
	}
}
