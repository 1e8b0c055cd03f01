// Package check has the checkers: each says what in a history breaks a promise of
// holdfast.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Violation is a promise that was broken.
type Violation struct {
	Checker string
	Text    string
	Events  []history.Event // those it is about
}

func (v Violation) String() string { return v.Checker + ": " + v.Text }

// Rules say what was promised in the run that a history is of.
type Rules struct {
	TTL      time.Duration
	Loses    bool          // the fault may take data from Redis: two may believe, and only the fence is promised
	Split    bool          // two servers may answer as the master at a time
	Replicas bool          // WaitReplicas is in use
	Jumps    bool          // the server's clock jumps forward: the start of a pushed grant is known no better than by its arrival
	Lags     bool          // clocks of single nodes go back: what a node was not told to drop in time stays there for longer
	Quiet    bool          // nothing is done to anybody: no lease may be lost
	Slack    time.Duration // what the machine may add to times that are no matter of safety
	Calm     bool          // nothing is done to the servers and the network: who lives has a working connection
	Polled   bool          // a quorum: it has no queue
	Windows  time.Duration // claim windows of waiters whose machine was lost
}

// History is what happened, put in order.
type History struct {
	Events []history.Event
	Leases []*Lease // granted ones, by Granted
	Asks   []*Lease // all attempts, by Asked; those that were not granted have no Granted

	crashed map[string]int64  // when a process was gone
	frozen  map[string][]span // when it was stopped from outside
	stalls  []stall           // when a process or a server stood still
	forgot  []int64           // when the server lost what it had
	unclean map[string]bool   // its Close said that Redis had not confirmed all
	pauses  map[string][]span // when a process did not run
	healed  int64
	end     int64
}

// Lease is one attempt. Times that never came are 0.
type Lease struct {
	history.Event // of Ask, with the token once it is known

	Asked    int64
	Answered int64 // granted or failed
	Granted  int64
	Deadline int64 // the last that was seen
	Over     int64
	Release  int64
	Released int64
	Why      history.Class // it failed, or was over
	Result   history.Class // of Release

	about []history.Event
}

type span struct{ from, to int64 }

type stall struct {
	process string
	span
}

// Until is when its holder does not believe in the lease any more, at the latest.
func (l *Lease) Until() int64 {
	until := l.Deadline
	for _, t := range []int64{l.Over, l.Release} {
		if t > 0 {
			until = min(until, t)
		}
	}
	return max(until, l.Granted)
}

func (l *Lease) String() string {
	return fmt.Sprintf("%s attempt %d (%s %s, %d of %d) token %d, [%d, %d]", l.Process, l.Attempt, l.Kind, l.Mode, l.Weight, l.Capacity, l.Token, l.Granted, l.Until())
}

// forever is after all events, and leaves room for what is added to it.
const forever = int64(1 << 62)

// Read puts merged events in order.
func Read(events []history.Event) *History {
	h := &History{Events: events, crashed: map[string]int64{}, unclean: map[string]bool{}, pauses: map[string][]span{}, frozen: map[string][]span{}}
	attempts := map[int64]*Lease{}
	frozen := map[string]int64{}
	step, last := map[string]string{}, map[string]int64{} // where a process killed itself, and its last note
	for i := range events {
		e := &events[i]
		if e.What != history.Monitor && e.What != history.Gap {
			h.end = max(h.end, e.T)
		}
		switch e.What {
		case history.Step:
			step[e.Process] = e.Detail
		case history.Crash:
			h.crashed[e.Process] = e.T
			if e.Detail != "" && e.Detail == step[e.Process] { // on a busy machine this is noted late
				h.crashed[e.Process] = last[e.Process]
			}
		case history.Freeze:
			frozen[e.Process] = e.T
		case history.Thaw:
			// The freeze was noted after it began: the trap's own event is before.
			h.pauses[e.Process] = append(h.pauses[e.Process], span{frozen[e.Process] - int64(time.Second), e.T})
			h.frozen[e.Process] = append(h.frozen[e.Process], span{frozen[e.Process], e.T})
			delete(frozen, e.Process)
		case history.Stall:
			h.pauses[e.Process] = append(h.pauses[e.Process], span{e.T - e.Version, e.T})
			h.stalls = append(h.stalls, stall{e.Process, span{e.T - e.Version, e.T}})
		case history.FaultBegin:
			h.forgot = append(h.forgot, e.T)
		case history.Stop:
			h.unclean[e.Process] = e.Class != history.OK
		case history.Healed:
			h.healed = e.T
		case history.Ask:
			l := &Lease{Event: *e, Asked: e.T}
			attempts[e.Attempt] = l
			h.Asks = append(h.Asks, l)
			l.about = append(l.about, *e)
		default:
			if l := attempts[e.Attempt]; l != nil && e.Process == l.Process {
				l.take(e)
			}
		}
		last[e.Process] = e.T
	}
	for process, from := range frozen {
		h.pauses[process] = append(h.pauses[process], span{from - int64(time.Second), forever})
		h.frozen[process] = append(h.frozen[process], span{from, forever})
	}
	for _, l := range h.Asks {
		if l.Granted > 0 {
			h.Leases = append(h.Leases, l)
		}
	}
	slices.SortStableFunc(h.Leases, func(a, b *Lease) int { return cmp.Compare(a.Granted, b.Granted) })
	return h
}

// take adds what happened to the attempt.
func (l *Lease) take(e *history.Event) {
	l.about = append(l.about, *e)
	switch e.What {
	case history.Granted:
		l.Granted, l.Answered, l.Deadline, l.Token = e.T, e.T, e.Deadline, e.Token
	case history.Failed:
		l.Answered, l.Why = e.T, e.Class
	case history.Renewed:
		l.Deadline = max(l.Deadline, e.Deadline)
	case history.Over:
		l.Over, l.Why = e.T, e.Class
	case history.Release:
		l.Release = e.T
	case history.Released:
		l.Released, l.Result = e.T, e.Class
	}
}

// paused reports whether a process did not run at some time between from and to.
func (h *History) paused(process string, from, to int64) bool {
	if gone := h.crashed[process]; gone > 0 && gone < to {
		return true
	}
	return slices.ContainsFunc(h.pauses[process], func(p span) bool { return p.from <= to && p.to >= from })
}

// slow reports whether the machine kept a process from running for longer than d
// after a time: then what is bounded in time there proves nothing.
func (h *History) slow(after int64, d time.Duration) bool {
	for _, pauses := range h.pauses {
		if slices.ContainsFunc(pauses, func(p span) bool { return p.to > after && p.to-p.from > int64(d) }) {
			return true
		}
	}
	return false
}

// byName are the leases of each name, by Granted.
func (h *History) byName() map[string][]*Lease {
	names := map[string][]*Lease{}
	for _, l := range h.Leases {
		names[l.Name] = append(names[l.Name], l)
	}
	return names
}

// All runs every checker of a single history.
func All(h *History, r Rules) []Violation {
	var all []Violation
	for _, check := range []func(*History, Rules) []Violation{Exclusion, Tokens, Fence, Adds, Unfenced, Errors, Waiting, Idle, InOrder, Leftovers, Believed, Known, Recovered} {
		all = append(all, check(h, r)...)
	}
	return all
}
