//go:build linux

package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/faults/resource"
)

// caller locks one thing after the other.
type caller struct {
	*process
	client   int // which of the process's
	targets  []Target
	mix      Mix
	longest  time.Duration // that it works
	poll     time.Duration // how often it reads its deadline
	hoards   bool          // nobody else wants what it does
	random   *rand.Rand
	resource *resource.Conn
	first    int64 // its attempts are first + n * all callers
	attempts int64
	settled  int64 // the newest round
}

// live goes on until the process is to finish. An error is one of the harness.
func (c *caller) live() error {
	defer c.resource.Close()
	for c.ctx.Err() == nil {
		target := &c.targets[c.random.IntN(len(c.targets))]
		if err := c.attempt(c.wish(target)); err != nil {
			return err
		}
		if c.mix.Idle {
			c.pause(c.TTL / 3)
		}
		if c.mix.Rest > 0 {
			c.pause(c.mix.Rest)
		}
		if round := c.round.Load(); round != c.settled && !c.hoards {
			c.settled = round
			if c.unsettled.Add(-1) == 0 {
				fmt.Println(Settled)
			}
		}
	}
	return nil
}

// note writes an event for each name of a wish, with what it says in common.
func (c *caller) note(w *wish, common history.Event) {
	for i := range w.events {
		e := w.events[i]
		e.T, e.What, e.Deadline, e.Class, e.Detail = common.T, common.What, common.Deadline, common.Class, common.Detail
		c.notes.Note(e)
	}
}

// attempt asks, works and gives back.
func (c *caller) attempt(w *wish) error {
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if c.random.Float64() < c.mix.Cancel {
		ctx, cancel = context.WithTimeout(ctx, upTo(c.random, c.TTL))
	}
	defer cancel()
	c.note(w, history.Event{T: history.Now(), What: history.Ask})
	l, tokens, err := c.lock(ctx, w)
	if err == nil {
		c.trap.at(AfterGrant)
	}
	now := history.Now()
	if err != nil {
		class, words := classUnder(ctx, err)
		c.note(w, history.Event{T: now, What: history.Failed, Class: class, Detail: words})
		c.rest(class)
		return nil
	}
	for i, token := range tokens {
		w.events[i].Token = token
	}
	known := max(now, deadline(l)) // now: over on arrival
	c.note(w, history.Event{T: now, What: history.Granted, Deadline: known})
	err = c.hold(w, l, known)
	c.note(w, history.Event{T: history.Now(), What: history.Release})
	released := l.Release()
	class, words := classOf(released)
	c.note(w, history.Event{T: history.Now(), What: history.Released, Class: class, Detail: words})
	return err
}

// rest keeps callers from asking as fast as they can what can't be had.
func (c *caller) rest(class history.Class) {
	longest := time.Millisecond
	if class != history.Held && class != history.Cancelled {
		longest = 20 * time.Millisecond
	}
	c.pause(longest)
}

// pause does nothing for up to longest.
func (c *caller) pause(longest time.Duration) {
	select {
	case <-time.After(upTo(c.random, longest)):
	case <-c.ctx.Done():
	}
}

// hold is what is done while the lease is believed in.
func (c *caller) hold(w *wish, l lease, known int64) error {
	base := make([]resource.State, len(w.events))
	reads := w.events[0].Mode.Fenced()
	ok := reads
	for i := range w.events {
		if !ok || l.Err() != nil {
			ok = false
			break
		}
		var err error
		if base[i], ok, err = c.touch(&w.events[i], nil); err != nil {
			return err
		}
	}
	c.trap.at(InWork)
	if c.random.Float64() < c.mix.Long {
		c.stay(w, l, known, upTo(c.random, c.longest))
	} else if c.mix.Work > 0 {
		c.stay(w, l, known, c.mix.Work)
	}
	for i := range w.events {
		if !ok || l.Err() != nil {
			break
		}
		c.trap.at(BeforeWrite)
		var err error
		if _, ok, err = c.touch(&w.events[i], &base[i]); err != nil {
			return err
		}
	}
	return nil
}

// touch reads the registers of a name, or writes them where base is what was
// read.
func (c *caller) touch(e *history.Event, base *resource.State) (resource.State, bool, error) {
	var s resource.State
	var ok bool
	var err error
	seen := *e
	if base == nil {
		s, ok, err = c.resource.Read(e.Name, e.Attempt, e.Token)
		seen.What = history.Read
	} else {
		s, ok, err = c.resource.Write(e.Name, e.Attempt, e.Token, *base)
		seen.What = history.Write
	}
	if err != nil {
		return s, false, err
	}
	seen.T, seen.Version, seen.Free, seen.Class = history.Now(), s.Version, s.Free, history.OK
	if !ok {
		seen.Class = history.Refused
	}
	c.notes.Note(seen)
	return s, ok, nil
}

// stay works for so long, or until the lease is over, and follows its deadline from
// the one that was noted.
func (c *caller) stay(w *wish, l lease, known int64, work time.Duration) {
	if l.Err() != nil {
		return // it ended while nobody looked: when that was told is not known
	}
	poll := time.NewTicker(c.poll)
	defer poll.Stop()
	follow := func() {
		if d := deadline(l); l.Err() == nil && d > known+int64(time.Millisecond) {
			known = d
			c.note(w, history.Event{T: history.Now(), What: history.Renewed, Deadline: d})
		}
	}
	follow() // it may have been renewed since
	done := l.Done()
	for end := time.After(work); ; {
		select {
		case <-done:
			now := history.Now()
			class, words := classOf(l.Err())
			c.note(w, history.Event{T: now, What: history.Over, Class: class, Detail: words})
			return
		case <-end:
			return
		case <-c.ctx.Done():
			return
		case <-poll.C:
			follow()
		}
	}
}

// lock asks for what is wished for, by holdfast or by the peer.
func (c *caller) lock(ctx context.Context, w *wish) (lease, []int64, error) {
	if c.peer == nil {
		return w.lock(ctx, c.clients[c.client], c.Process)
	}
	l, err := c.peer.lock(ctx, w, w.try)
	switch {
	case err == nil:
		return l, []int64{0}, nil
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(err, errNotGranted):
		return nil, nil, holdfast.ErrHeld
	}
	return nil, nil, errors.Join(holdfast.ErrUnreachable, err)
}
