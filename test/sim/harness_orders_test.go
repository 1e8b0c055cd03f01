package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
)

// ordering is what a run has of orders.
type ordering struct {
	on    bool
	given sync.WaitGroup // orders under way
}

// meddle does, now and then, what happens to a holder beside its work. It tells
// whether the caller has nothing more to do with its lease.
func meddle(c *caller, h *Held, lease *holdfast.Lease) (done bool) {
	s := c.run
	other := s.links[c.random.IntN(len(s.links))]
	switch n := c.random.IntN(10); {
	case n == 0:
		err := lease.EnsureHeld(context.Background())
		if c.did("EnsureHeld", err); err != nil {
			allow(c, "EnsureHeld", err, holdfast.ErrLost)
		}
	case n == 2 && !isShared(h.name):
		after, work := c.some(20*time.Millisecond), c.some(50*time.Millisecond)
		s.orders.given.Go(func() { takeAway(c, other, h.name, after, work) })
	case n <= 3 && !isShared(h.name):
		after := c.some(20 * time.Millisecond)
		s.orders.given.Go(func() { orderBy(c, other, h.name, n == 1, after) })
	case n == 4 && !isShared(h.name) && !h.stays:
		giveAway(c, h, lease, other)
		return true
	}
	return false
}

// orderBy revokes or steals, from whoever holds the name after a while.
func orderBy(c *caller, by *Link, name string, steal bool, after time.Duration) {
	if !c.run.sleep(after) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	state, err := admin.Of(by.Client).Inspect(ctx, name)
	if err != nil || state.Holder == nil || state.Holder.Hash == "" {
		return
	}
	if steal {
		err = admin.Of(by.Client).Steal(ctx, name, state.Holder.Hash, "a random run")
	} else {
		_, err = admin.Of(by.Client).Revoke(ctx, name, state.Holder.Hash, "a random run")
	}
	c.did(map[bool]string{true: "Steal", false: "Revoke"}[steal], err)
	if err != nil {
		allow(c, "an order", err, holdfast.ErrTenure)
	}
}

// takeAway steals the name from its holder after a while, and works under it.
func takeAway(c *caller, l *Link, name string, after, work time.Duration) {
	s := c.run
	if !s.sleep(after) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	state, err := admin.Of(l.Client).Inspect(ctx, name)
	if err != nil || state.Holder == nil || state.Holder.Hash == "" {
		return
	}
	h := s.Watch.Called(l, name)
	lease, err := l.Client.Mutex(name).Steal(ctx, state.Holder.Hash, "a random run")
	c.did("Mutex.Steal", err)
	if err != nil {
		s.Watch.Leaves(h)
		allow(c, "Mutex.Steal", err, holdfast.ErrTenure)
		return
	}
	s.Watch.Granted(h, lease)
	s.sleep(work)
	s.Watch.Leaves(h)
	_ = lease.Release()
}

// giveAway exports a lease; the process itself and another try to adopt it.
func giveAway(c *caller, h *Held, lease *holdfast.Lease, other *Link) {
	s := c.run
	s.Watch.Leaves(h)
	text, err := lease.Export()
	c.did("Export", err)
	if err != nil {
		allow(c, "Export", err, holdfast.ErrLost)
		_ = lease.Release()
		return
	}
	var adopters sync.WaitGroup
	got := make([]bool, 2)
	for i, l := range []*Link{other, c.link} {
		wait, work := c.some(10*time.Millisecond), c.some(50*time.Millisecond)
		adopters.Go(func() {
			if s.sleep(wait) {
				got[i] = takeOver(c, l, h.name, text, work)
			}
		})
	}
	adopters.Wait()
	switch {
	case got[0] && got[1]:
		s.Watch.Broken("two adopted one lease of %s", h.name)
	case !got[0] && !got[1]:
		s.Atomically(func() { s.staleIDs = true }) // it lasts for its ttl
	}
}

// takeOver adopts and works for a while.
func takeOver(c *caller, l *Link, name, text string, work time.Duration) bool {
	s := c.run
	h := s.Watch.Called(l, name)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	lease, err := l.Client.Adopt(ctx, text)
	c.did("Adopt", err)
	if err != nil {
		s.Watch.Leaves(h)
		allow(c, "Adopt", err, holdfast.ErrLost)
		return false
	}
	s.Watch.Granted(h, lease)
	s.sleep(work)
	s.Watch.Leaves(h)
	_ = lease.Release()
	return true
}

// allow checks that an error is one of those that are promised.
func allow(c *caller, what string, err, also error) {
	for _, want := range []error{also, holdfast.ErrUnreachable, holdfast.ErrTooSlow, context.DeadlineExceeded} {
		if errors.Is(err, want) {
			return
		}
	}
	if c.run.copies == 0 || !errors.Is(err, holdfast.ErrReplicas) {
		c.run.Watch.Broken("%s says %v", what, err)
	}
}
