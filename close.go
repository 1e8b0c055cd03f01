package holdfast

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// noticeDrop ends a Client that the program drops. In a bubble it can't: nothing outside may
// touch the channels of one.
func (c *Client) noticeDrop() {
	if !clock.InBubble() {
		runtime.AddCleanup(c, dropped, c.core)
	}
}

// dropped runs when a Client was garbage-collected.
func dropped(c *core) {
	if !c.isClosed() {
		c.options.Logger.Warn("holdfast: a Client was dropped without Close; closing it now", slog.String("owner", c.options.Owner))
		go c.close() // nobody is left to return its error to; it logs
	}
}

// Close ends the Client. Leases end with cause [Closed] and are released, and waiting
// calls return [ErrClosed]. Close blocks for at most about two seconds for the cleanup
// in Redis. It then waits for at most one second until OnEvent has all events. The
// store stays open.
//
// Close returns [ErrUnknown] if Redis did not confirm the cleanup in time. The
// remaining keys expire after their TTL. A second Close waits for the first and returns
// the same error.
//
// Later calls return ErrClosed and do not contact Redis. A call that has begun before
// returns the answer of Redis. If Redis did not answer, it returns ErrClosed, although
// Redis may have executed it. Methods of a [Lease] return an error that matches both
// [ErrLost] and ErrClosed. [Client.LocalState] still works.
//
// If a program exits without Close, its names stay held until their TTL ends. Its
// places in queues stay too. They do not delay other waiters after the connection of
// the program is closed.
func (c *Client) Close() error { return c.close() }

// isClosed reports whether Close was called.
func (c *core) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// wasClosed is ErrClosed after Close was called.
func (c *core) wasClosed() error {
	if c.isClosed() {
		return ErrClosed
	}
	return nil
}

// openKeys are the keys of a name that the Client is asked about: of one that is closed no
// more. A call that has begun gets its answer.
func (c *core) openKeys(name string) (*keyspace.Keys, error) {
	if c.isClosed() {
		return nil, ErrClosed
	}
	return keysOf(c.options.Prefix, name)
}

func (c *core) close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.gone
		return c.left
	}
	c.closed, c.gone = true, make(chan struct{})
	err := c.shutDown()
	if err != nil {
		c.left = wire.Failure("close", ErrUnknown, err)
	}
	close(c.gone) // before OnEvent is waited for, which may call Close
	c.awaitTold()
	if err != nil {
		c.options.Logger.Warn("holdfast: closed without an answer from the store; names that this client may still hold stay locked until their ttl ends", slog.Any("error", err))
	}
	return c.left
}

// shutDown is called with the mutex held, and releases it.
func (c *core) shutDown() error {
	c.dropGathered() // or it would leave after what undoes it
	now := c.clock.Now()
	var calls, echoes []chore
	for _, l := range c.lines {
		calls = append(calls, l.shut()...)
	}
	for _, t := range c.tenures {
		if t.phase == over { // its lease was not released yet
			calls = append(calls, c.ends(t.id, t.line, script.Unlock, nil)...)
		}
	}
	calls = append(calls, c.owed()...)
	for e := range c.errands {
		e.bringUpToDate(now)
		if e.heard {
			echoes = append(echoes, chore{e.call, e.node})
		} else { // its answer may not come in time
			calls = append(calls, chore{e.call, e.node})
		}
	}
	c.unlock()

	ctx, cancel := context.WithTimeout(c.ctx, min(max(c.options.TTL, 500*time.Millisecond), 2*time.Second))
	defer cancel()
	away := c.details.Remove(ctx)
	err := c.undo(ctx, calls)
	if later := c.undo(ctx, c.settle(ctx)); err == nil {
		err = later
	}
	if err == nil {
		err = ctx.Err() // something was still on its way
	}
	c.repeat(ctx, echoes)
	<-away
	c.cancel()
	return err
}

// repeat sends once more what was answered before, in a quarter of a second. It is owed to
// nobody: whether it was done does not matter.
func (c *core) repeat(ctx context.Context, echoes []chore) {
	if len(echoes) > 0 {
		ctx, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
		defer cancel()
		_ = c.undo(ctx, echoes)
	}
}

// awaitTold waits until OnEvent was told what happened, so that who writes it
// down has all of it when Close returns. A second at most: it is the user's code.
func (c *core) awaitTold() {
	if c.told == nil {
		return
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-c.told:
	case <-t.C:
	}
}

// shut ends all of a line and returns what undoes it in Redis.
func (l *line) shut() (calls []chore) {
	now := l.c.clock.Now()
	l.reject(ErrClosed)
	if u := l.turn; u != nil {
		u.finish(&LostError{Name: l.name, Token: u.token, Cause: Closed}, now)
	}
	l.tell(wire.Failure(l.name, ErrUnknown, ErrClosed))
	for _, t := range []*tenure{l.tenure, l.fresh} {
		if t == nil {
			continue
		}
		switch {
		case t.phase >= holding:
			calls = append(calls, l.c.ends(t.id, l, script.Unlock, nil)...)
		case t.first > 0:
			calls = append(calls, l.c.ends(t.id, l, script.Cancel, nil)...)
		}
	}
	if u := l.turn; u != nil && l.candidate != nil && l.c.quorum == nil {
		calls = append(calls, chore{l.announcement(u), nil})
	}
	return calls
}

// chore is a call that Close makes.
type chore struct {
	call driver.Call
	node *node // of a quorum; nil on one master
}

// ends are the calls that end an id: one, by that script, or on a quorum one for
// each node or for the one that is meant.
func (c *core) ends(id string, l *line, s *driver.Script, only *node) (calls []chore) {
	switch {
	case c.quorum != nil:
		for _, n := range c.quorum.nodes {
			if only == nil || only == n {
				calls = append(calls, chore{driver.Call{Script: script.QuorumUnlock, Keys: l.onNodes().leave[:], Args: []string{id}}, n})
			}
		}
	case c.restsUntil(id) > 0:
		s, args := l.parting(id, "", c.restsUntil(id), c.clock.Now())
		calls = append(calls, chore{driver.Call{Script: s, Keys: l.keys[:], Args: args}, nil})
	case s == script.Unlock:
		calls = append(calls, chore{l.call(s, l.unlockArgs(id, "")), nil})
	default:
		calls = append(calls, chore{l.call(s, []string{id, l.shard}), nil})
	}
	return calls
}

// owed is what silent nodes of a quorum may yet hear of.
func (c *core) owed() (calls []chore) {
	if c.quorum == nil {
		return nil
	}
	for _, n := range c.quorum.nodes {
		for id, l := range n.owed {
			calls = append(calls, c.ends(id, l, script.Unlock, n)...)
		}
	}
	return calls
}

// undo makes the calls; see undoAll for a quorum.
func (c *core) undo(ctx context.Context, chores []chore) error {
	if c.quorum != nil {
		return c.quorum.undoAll(ctx, chores)
	}
	calls := make([]driver.Call, len(chores))
	for i := range chores {
		calls[i] = chores[i].call
	}
	return call.Repeat(ctx, c.store, calls)
}

// settle waits until the requests under way have come back, or ctx ends, and
// returns what undoes those among them that may have run after what undid them.
func (c *core) settle(ctx context.Context) []chore {
	for began := c.clock.Now(); ; {
		c.mu.Lock()
		busy, late := c.inflight, c.late
		if c.quorum != nil {
			busy = c.quorum.busy(c.clock.Now().Sub(began))
		}
		c.mu.Unlock()
		if busy == 0 || ctx.Err() != nil {
			return late
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
}
