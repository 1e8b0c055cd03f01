package machine

// check returns which fact about a process does not hold; empty: all do.
func (p *Process) check() string {
	holds := 0
	for id, t := range p.tenures {
		switch {
		case t.ID != id:
			return "a tenure stands under another id"
		case t.phase == ended:
			return "an ended tenure is among the tenures"
		case t.phase == holding:
			holds++
		}
		if t.phase == holding && t.local.tenure != t {
			return "a tenure that holds is not that of its name"
		}
	}
	if holds != p.Schedule.Held {
		return "the schedule counts other leases than are held"
	}
	for _, n := range p.names {
		if wrong := n.checkFacts(); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (n *Name) checkFacts() string {
	t := n.tenure
	count, tries := 0, 0
	var last *Waiter
	for w := n.waiters.first; w != nil; w = w.after {
		if !w.listed || w.Local != n || w.prev != last {
			return "a local waiter is not listed as it should"
		}
		if last != nil && last.number >= w.number {
			return "local waiters are out of order"
		}
		count++
		if w.Try {
			tries++
		}
		last = w
	}
	switch {
	case last != n.waiters.last || count != n.waiters.n || tries != n.waiters.tries:
		return "the local waiters are counted wrong"
	case !n.listed:
		return "a name is among the names and not listed"
	case t == nil:
		return "a name has no tenure"
	case n.p.tenures[t.ID] != t:
		return "the tenure of a name is not among the tenures"
	case t.phase >= unreleased:
		return "the tenure of a name has ended"
	case n.turn != nil && (t.phase != holding || n.turn.Tenure != t):
		return "a turn is out of a tenure that does not hold"
	case n.turn != nil && n.turn.Ended.Load() != nil:
		return "a turn that has ended is out"
	case n.successor != nil && t.phase != releasing:
		return "a successor without a release"
	case n.successor != nil && n.p.tenures[n.successor.ID] != n.successor:
		return "a successor is not among the tenures"
	case n.unlocking != nil && t.phase != releasing:
		return "an unlock without a release"
	case n.Asking != nil && t.phase > queued:
		return "a lock is on its way for a tenure that was granted"
	case n.lingerUntil > 0 && (t.phase != holding || n.turn != nil):
		return "a name lingers that is not idle"
	case t.phase == holding && t.renewal != nil && t.renewal.Tenure != t:
		return "the renewal of another tenure"
	}
	return ""
}
