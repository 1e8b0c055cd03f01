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
// or none. To each name's line that is a lock of its own which does not wait,
// with an id of its own: only the way there and back is shared. So whatever can
// happen to a lock and its answer is known how to deal with. See
// docs/protocol.md.

// bundle is the lines of several names that ask by one script. They are new:
// nobody here held these names or wanted them. A line leaves it with the first
// answer, or when nobody wants its name any more. Guarded by the core's mutex.
type bundle struct {
	c      *core
	lines  []*line
	asking *request // the newest that was sent
}

// mostBundled bounds the names of one script: with so many it keeps a server for
// less than 2 ms.
const mostBundled = 100

// errOneByOne: the names can't be asked for at once.
var errOneByOne = errors.New("holdfast: these names must be asked for one by one")

// enterAll puts a caller that does not wait into the line of each name, and asks
// for all of them at once. It is errOneByOne where that can't be; nothing was
// asked then. A try hears from here that a name is in use in this process.
func (c *core) enterAll(names []string, try, patient bool) ([]*caller, error) {
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
	b := &bundle{c: c}
	callers := make([]*caller, len(names))
	for i, name := range names {
		l, w := c.newLine(name, name, all[i], nil), c.newCaller(true)
		l.admit(w, now)
		l.tenure, l.bundle = c.newTenure(l), b
		b.lines, callers[i] = append(b.lines, l), w
	}
	b.ask(now)
	for _, l := range b.lines {
		l.arm(now)
	}
	c.unlockAndPerform(patient, b.asking, now)
	return callers, nil
}

// unused is nil where nobody in this process has to do with any of the names.
func (c *core) unused(names []string, try bool, now clock.Instant) (err error) {
	if c.closed {
		return ErrClosed
	}
	for _, name := range names {
		l := c.lines[name]
		if l != nil && try && l.busy() {
			return l.held(now)
		}
		if l != nil {
			err = errOneByOne
		}
	}
	return err
}

// ask sends the script for all lines that are still in the bundle: the first
// time, or once more, with the same ids.
func (b *bundle) ask(now clock.Instant) {
	call := driver.Call{Script: script.MultiLock}
	var carried []*request
	for _, l := range b.lines {
		if l.bundle != b {
			continue
		}
		t := l.tenure
		r := &request{
			call: l.call(script.Lock, []string{t.id, strideText}), line: l, tenure: t,
			sent: now, attempt: b.c.options.attempt(), answered: (*request).lockAnswered,
		}
		if t.first == 0 {
			t.first = now
		}
		l.askAt = 0
		t.open++
		l.asking = r
		call.Keys, call.Args = append(call.Keys, r.call.Keys...), append(call.Args, t.id)
		carried = append(carried, r)
	}
	call.Args = append(call.Args, strideText)
	attempt := carried[0].attempt
	b.asking = &request{call: call, carries: carried, sent: now, attempt: attempt, ctx: b.c.bounds.Attempt(b.c.ctx, now, attempt)}
	b.c.outbox = append(b.c.outbox, b.asking)
	b.c.inflight += len(carried) - 1 // all of them come back
}

// came hands the answer of a request to those that it carries.
func (c *core) came(r *request, reply []string, err error) {
	if len(r.carries) == 0 {
		c.arrived(r, reply, err)
		return
	}
	for i, carried := range r.carries {
		share, wrong := shareOf(reply, i, len(r.carries))
		c.arrived(carried, share, cmp.Or(err, wrong))
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

// unbundle makes a line go on without the others, if it is in a bundle. Who
// wanted all names at once has to ask one by one.
func (l *line) unbundle() bool {
	if l.bundle == nil {
		return false
	}
	l.bundle = nil
	l.tellTries(func() error { return errOneByOne })
	return true
}
