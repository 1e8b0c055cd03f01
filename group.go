package holdfast

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
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
	c      *core
	names  []*localName
	asking *request // the newest that was sent
}

// maxGroup bounds the names of one script: with 100 it keeps a server for
// less than 2 ms.
const maxGroup = 100

// errOneByOne: the names can't be asked for at once.
var errOneByOne = errors.New("holdfast: these names must be asked for one by one")

// enterAll puts a caller that does not wait into the local queue of each name, and
// asks for all of them at once. Where that can't be, it returns errOneByOne and has asked
// nothing. A try fails here if a name is in use in this process.
func (c *core) enterAll(names []string, try, blocking bool) ([]*waiter, error) {
	together := c.quorum == nil && len(names) > 1
	all := make([]*keyspace.Keys, len(names))
	for i, name := range names {
		k, err := keysOf(c.options.Prefix, name)
		if err != nil {
			return nil, err
		}
		all[i] = k
		together = together && (!c.store.Sharded() || keyspace.Slot(k.Lock()) == keyspace.Slot(all[0].Lock()))
	}
	c.mu.Lock()
	now := c.clock.Now()
	if err := c.unused(names, try, now); err != nil || !together {
		c.unlock()
		return nil, cmp.Or(err, errOneByOne)
	}
	g := &group{c: c}
	callers := make([]*waiter, len(names))
	for i, name := range names {
		n, w := c.newName(name, name, all[i], nil), c.newWaiter(true)
		n.admit(w, now)
		n.tenure, n.group = c.newTenure(n), g
		g.names, callers[i] = append(g.names, n), w
	}
	g.ask(now)
	for _, n := range g.names {
		n.arm(now)
	}
	c.unlockAndPerform(blocking, g.asking, now)
	return callers, nil
}

// unused is nil where nobody in this process has to do with any of the names.
func (c *core) unused(names []string, try bool, now clock.Instant) (err error) {
	if c.closed {
		return ErrClosed
	}
	for _, name := range names {
		n := c.names[name]
		if n != nil && try && n.busy() {
			return n.held(now)
		}
		if n != nil {
			err = errOneByOne
		}
	}
	return err
}

// ask sends the script for all names that are still in the group: the first
// time, or once more, with the same ids.
func (g *group) ask(now clock.Instant) {
	call := driver.Call{Script: script.MultiLock}
	var carried []*request
	for _, n := range g.names {
		if n.group != g {
			continue
		}
		t := n.tenure
		r := &request{
			call: n.callFor(script.Lock, []string{t.id, blockText}), local: n, tenure: t,
			sent: now, attempt: g.c.options.attempt(), onAnswer: (*request).lockAnswered,
		}
		if t.firstSent == 0 {
			t.firstSent = now
		}
		n.askAt = 0
		t.openLocks++
		n.asking = r
		call.Keys, call.Args = append(call.Keys, r.call.Keys...), append(call.Args, t.id)
		carried = append(carried, r)
	}
	call.Args = append(call.Args, blockText)
	attempt := carried[0].attempt
	g.asking = &request{call: call, parts: carried, sent: now, attempt: attempt, ctx: g.c.bounds.Attempt(g.c.ctx, now, attempt)}
	g.c.outbox = append(g.c.outbox, g.asking)
	g.c.inflight += len(carried) - 1 // all of them come back
}

// deliver hands the answer of a request to those that it carries.
func (c *core) deliver(r *request, reply []string, err error) {
	if len(r.parts) == 0 {
		c.handleAnswer(r, reply, err)
		return
	}
	for i, carried := range r.parts {
		share, wrong := shareOf(reply, i, len(r.parts))
		c.handleAnswer(carried, share, cmp.Or(err, wrong))
	}
}

// shareOf is what an answer of multi_lock says of the name at i: its own grant,
// or how it stands with the one that is not to be had, and "passed" of the others.
func shareOf(reply []string, i, n int) ([]string, error) {
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
func (n *localName) leaveGroup() bool {
	if n.group == nil {
		return false
	}
	n.group = nil
	n.answerTries(func() error { return errOneByOne })
	return true
}
