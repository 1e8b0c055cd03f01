package quorum

import "github.com/holdfast-go/holdfast/test/model"

// world is a state in the middle of a step. What a client does stands in client.go.
type world struct {
	State
	m    *Model
	step model.Step
}

func (w *world) note(n model.Note) { w.step.Add(n) }

// guard is part/quorum_check_member.lua: whether the node is of the quorum that is meant. A
// restart is noticed here.
func (w *world) guard(n *Node, try int) bool {
	if n.Mark != w.m.wants(try) && (w.m.Mutant != NoMarker || n.Mark != unmarked) {
		w.note(noMember)
		return false
	}
	if n.Restarted {
		n.Restarted = false
		if w.m.Mutant != NoGuard {
			w.note(noticesRestart)
			n.Out = w.m.SitOut
		}
	}
	return true
}

// is reports whether L is the id of a try.
func (w *world) is(n *Node, try int) bool {
	if n.L == 0 {
		return false
	}
	if w.m.Mutant == OneID {
		return w.m.Client[n.L-1] == w.m.Client[try]
	}
	return int(n.L) == try+1
}

// vote is quorum/lock.lua.
func (w *world) vote(n *Node, try int) (granted bool, c int8) {
	switch {
	case !w.guard(n, try):
		return false, 0
	case n.Out > 0:
		w.note(sitsOut)
		return false, 0
	case w.is(n, try) && w.m.Mutant != VoteAnew:
		w.note(grantedBefore)
		return true, n.C
	case n.L != 0 && !w.is(n, try):
		w.note(voteHeld)
		return false, 0
	}
	w.note(voteGiven)
	c = w.propose(n, try)
	n.L, n.C, n.PX, n.F = uint8(try+1), c, w.m.TTL, c+w.m.Turns-1
	return true, c
}

// propose is the token of a vote: the client's proposal, clamped into the node's
// time, and above F.
func (w *world) propose(n *Node, try int) int8 {
	p, now := int8(0), w.m.clock(&w.State, n)
	if w.m.Far && w.m.Client[try]%2 == 1 {
		p = 100
	}
	if w.m.Mutant != NoClamp {
		p = min(max(p, now-w.m.Clamp), now+w.m.Clamp)
	} else {
		p = min(p, now+40)
	}
	return max(n.F+1, p)
}

// raise is quorum/raise.lua.
func (w *world) raise(n *Node, try int) bool {
	v := &n.Votes[try]
	given, token := v.Given, v.Raise
	v.Given, v.Raise = 0, 0
	same := w.is(n, try) && n.C == given
	if w.m.Mutant == RaiseAnybody {
		same = n.L != 0
	}
	if !same {
		w.note(raiseLost)
		return false
	}
	w.note(raiseDone)
	n.F = max(n.F, token+w.m.Turns-1)
	return true
}

// renew is quorum/renew.lua.
func (w *world) renew(n *Node, try int) {
	v := &n.Votes[try]
	switch {
	case w.m.Mutant != RenewAnywhere && !w.guard(n, try):
		v.Renew = lostThere
	case w.is(n, try):
		w.note(renewDone)
		n.PX, n.F = w.m.TTL, max(n.F, w.Tries[try].T+w.m.Turns-1)
		v.Renew = renewedThere
	case n.L == 0:
		w.note(renewEmpty)
		v.Renew = emptyThere
	default:
		w.note(renewLost)
		v.Renew = lostThere
	}
}

// repair is quorum/repair.lua.
func (w *world) repair(n *Node, try int) {
	v := &n.Votes[try]
	v.Renew = noRenewal
	if !w.guard(n, try) || n.L != 0 {
		w.note(repairLost)
		return
	}
	w.note(repairDone)
	n.L, n.C, n.PX, n.F = uint8(try+1), w.Tries[try].T, w.m.TTL, max(n.F, w.Tries[try].T+w.m.Turns-1)
	v.Repair = true
}

// unlock is quorum/unlock.lua.
func (w *world) unlock(n *Node, try int) {
	if !w.is(n, try) {
		w.note(unlockNotHeld)
		return
	}
	w.note(unlockDone)
	n.L, n.C, n.PX = 0, 0, 0
}
