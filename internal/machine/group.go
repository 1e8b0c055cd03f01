package machine

import (
	"fmt"
	"strconv"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A Multi asks for up to 100 names by one script first, which grants all of them
// or none. For each name that is a lock of its own that does not wait,
// with an id of its own: only the way there and back is shared. So each name handles
// every answer as it does after a single lock. See
// docs/protocol.md.

// group is several names that ask by one script. They are new: nobody here held these
// names or wanted them. A name leaves the group with the first answer, or when nobody
// wants it any more. Guarded by the core's mutex.
type group struct {
	p      *Process
	names  []*Name
	Asking *Request // the newest that was sent
}

// EnterTogether puts a waiter into a new local name for each name, and asks for all of them at once.
func (p *Process) EnterTogether(names []string, keys []*keyspace.Keys, waiters []*Waiter, now clock.Instant) *group {
	g := &group{p: p}
	for i, name := range names {
		n := p.newName(name, name, keys[i], p.plain)
		n.admit(waiters[i], now)
		n.tenure, n.group = p.newTenure(n), g
		g.names = append(g.names, n)
	}
	g.ask(now)
	for _, n := range g.names {
		n.arm(now)
	}
	return g
}

// Unused is nil where nobody in this process has to do with any of the names.
func (p *Process) Unused(names []string, try bool, now clock.Instant) (err error) {
	if p.Closed {
		return wire.ErrClosed
	}
	for _, name := range names {
		n := p.names[name]
		if n != nil && try && n.busy() {
			return n.Held(now)
		}
		if n != nil {
			err = ErrOneByOne
		}
	}
	return err
}

// ask sends the script for all names that are still in the group: the first
// time, or once more, with the same ids.
func (g *group) ask(now clock.Instant) {
	call := driver.Call{Script: script.MultiLock}
	var carried []*Request
	for _, n := range g.names {
		if n.group != g {
			continue
		}
		t := n.tenure
		r := &Request{
			Call: n.callFor(script.Lock, []string{t.Id}), Local: n, Tenure: t,
			Sent: now, Attempt: g.p.Attempt(), OnAnswer: (*Request).lockAnswered,
		}
		if t.firstSent == 0 {
			t.firstSent = now
		}
		n.askAt = 0
		t.openLocks++
		n.Asking = r
		call.Keys, call.Args = append(call.Keys, r.Call.Keys...), append(call.Args, t.Id)
		carried = append(carried, r)
	}
	g.Asking = &Request{Call: call, Parts: carried, Sent: now, Attempt: carried[0].Attempt}
	g.p.Host.Send(g.Asking)
}

// ShareOf is what an answer of multi_lock says of the name at i: its own grant,
// or how it stands with the one that is not to be had, and "passed" of the others.
func ShareOf(reply []string, i, n int) ([]string, error) {
	switch {
	case len(reply) >= 2 && reply[0] == "not all":
		if reply[1] == strconv.Itoa(i+1) {
			return reply[2:], nil
		}
		return []string{"passed"}, nil
	case len(reply) == n:
		return reply[i : i+1], nil
	}
	return nil, fmt.Errorf("an answer of %d elements for %d names", len(reply), n)
}

// leaveGroup makes a name go on without the others, if it is in a group. A caller
// that wanted all names at once has to ask one by one.
func (n *Name) leaveGroup() bool {
	if n.group == nil {
		return false
	}
	n.group = nil
	n.answerTries(func() error { return ErrOneByOne })
	return true
}
