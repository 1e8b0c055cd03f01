package machine

import "reflect"

// check returns which fact about a Client does not hold; empty: all do.
func (c *Client) check() string {
	holds := 0
	for id, t := range c.tenures {
		if t.ID != id {
			return "a tenure stands under another id"
		}
		if t.phase == holding {
			holds++
		}
		if wrong := t.checkPhase(); wrong != "" {
			return wrong
		}
	}
	if holds != c.Schedule.Held {
		return "the schedule counts other leases than are held"
	}
	for _, n := range c.names {
		if wrong := n.checkFacts(); wrong != "" {
			return wrong
		}
		held := 0
		for _, t := range c.tenures {
			if t.name.Text == n.Text && t.phase == holding {
				held++
			}
		}
		if held != n.contact.held {
			return "a name counts other leases than are held"
		}
	}
	return ""
}

// checkPhase states what is true in each phase: a tenure knows nothing of another phase, and all
// that its own needs.
func (t *Tenure) checkPhase() string {
	n := t.name
	switch {
	case t.phase > queued && t.whileAsked != whileAsked{}:
		return "a tenure that was granted or has ended still knows how it was asked for"
	case t.phase != holding && !reflect.ValueOf(&t.whileHolding).Elem().IsZero():
		return "a tenure that does not hold knows what only a holder knows"
	case t.phase != releasing && t.whileReleasing != whileReleasing{}:
		return "a tenure that is not releasing knows of an unlock"
	case t.phase < holding && t.Ends() != 0:
		return "a tenure that was not granted has a deadline"
	}
	switch t.phase {
	case asked, queued:
		successor := n.tenure != nil && n.tenure.successor == t
		switch {
		case n.tenure != t && !successor:
			return "an id is asked for, and is not that of its name"
		case successor && (t.asking != nil || t.phase != asked):
			return "a successor is asked for while the unlock that queues it is under way"
		case t.asking != nil && (t.asking.Tenure != t || t.openLocks == 0 || t.firstSent == 0):
			return "a lock is on its way that is not counted"
		case t.phase == queued && !t.mayBeStored:
			return "an id is in the queue that did not ask to wait"
		case t.tokens.Wanted() == 0:
			return "a tenure that was not granted has tokens"
		}
	case holding:
		switch {
		case n.tenure != t:
			return "a tenure that holds is not that of its name"
		case t.Ends() == 0 || t.Expiry < t.Ends() || t.TTL <= 0:
			return "a holder has no deadline, or one after the lock key"
		case t.renewal != nil && t.renewal.Tenure != t:
			return "the renewal of another tenure"
		case t.LingerUntil > 0 && n.turn != nil:
			return "a name lingers that is not idle"
		case n.turn != nil && (t.turns == 0 || n.turn.Tenure != t || n.turn.Ended.Load() != nil):
			return "a turn is out that has ended, or was not given"
		}
	case releasing:
		switch {
		case n.tenure != t || n.turn != nil:
			return "a tenure is released that is not that of its name, or under a turn"
		case t.unlocks == 0:
			return "a tenure is releasing without an unlock"
		case t.successor != nil && n.client.tenures[t.successor.ID] != t.successor:
			return "a successor is not among the tenures"
		}
	case unreleased:
		if n.tenure == t || n.turn != nil && n.turn.Tenure == t {
			return "a tenure that has ended is that of its name, or has a turn"
		}
	case ended:
		return "an ended tenure is among the tenures"
	}
	return ""
}

func (n *Name) checkFacts() string {
	t := n.tenure
	count := 0
	var last *LocalWaiter
	for w := n.waiters.first; w != nil; w = w.after {
		if !w.listed || w.Name != n || w.prev != last {
			return "a local waiter is not listed as it should"
		}
		if last != nil && last.number >= w.number {
			return "local waiters are out of order"
		}
		if w.Try && last != nil {
			return "a try is not the first local waiter"
		}
		count++
		last = w
	}
	switch {
	case last != n.waiters.last || count != n.waiters.n:
		return "the local waiters are counted wrong"
	case !n.listed:
		return "a name is among the names and not listed"
	case t == nil:
		return "a name has no tenure"
	case n.client.tenures[t.ID] != t:
		return "the tenure of a name is not among the tenures"
	case t.phase >= unreleased:
		return "the tenure of a name has ended"
	case t.phase <= queued && n.waiters.n == 0:
		return "a name is asked for that nobody waits for"
	case n.turn != nil && t.phase != holding:
		return "a turn is out of a tenure that does not hold"
	}
	return ""
}
