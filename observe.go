package holdfast

import (
	"context"
	"iter"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/subscription"
)

// observerGroup is the observers of one election in this Client, and the one
// subscription that they share. Guarded by the core's mutex.
type observerGroup struct {
	c        *core
	keep     *subscription.Keeper
	up       bool // the subscription is confirmed
	channels map[chan struct{}]struct{}
}

// Observe yields the leader at once and then after each change, in order and never the
// same twice in a row. It yields the zero [Leader] while nobody leads; see
// [Leader.None]. A leader that resigned and was elected again is a new leader. Observe
// yields the same leader again when it proclaims a new value, and when Term changes
// from 0 to the number of the term.
//
// Observe may skip a leader that leads only briefly. If several changes happen while
// the body of your loop runs, Observe then yields only the newest state.
//
// If Redis does not answer or refuses, Observe yields the error once and continues to
// poll. When Redis answers again, Observe yields the leader, even if it did not change.
// Observe ends when ctx ends, when the loop breaks, and after [ErrName] or [ErrClosed].
//
// Leaders announce most changes, so Observe notices them at once. Observe also polls at
// the time when the key would expire, and at least every 15 s. It polls every second if
// it may not subscribe, if the Client uses a quorum, or if the holder sends no
// announcement, as a Mutex. The observers of an election in one Client share a subscription.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		defer runtime.KeepAlive(e.client) // or it might be closed for want of use
		c := e.client.core
		k, err := c.openKeys(e.name)
		if err != nil {
			yield(Leader{}, err)
			return
		}
		changed := make(chan struct{}, 1)
		defer c.observe(k, changed)()
		var seen election.Sight
		for {
			view, err := c.servers.leader(ctx, e.name, k, c.process.Attempt())
			if ctx.Err() != nil {
				return
			}
			if news, isNew := seen.Take(view, err); isNew && !yield(Leader(news), err) {
				return
			}
			if ended := c.awaitChange(ctx, changed, c.observePause(k, &seen)); ended != nil {
				if ctx.Err() == nil {
					yield(Leader{}, ended)
				}
				return
			}
		}
	}
}

// observePause is how long an observer trusts to announcements.
func (c *core) observePause(k *keyspace.Keys, seen *election.Sight) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.observerGroups[k.Lock()]
	return seen.Pause(a != nil && a.up, c.process.Jitter)
}

// awaitChange returns after a while, or when something was announced; with ErrClosed
// or ctx's error when there is nothing more to wait for.
func (c *core) awaitChange(ctx context.Context, changed <-chan struct{}, pause time.Duration) error {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.stopped:
		return ErrClosed
	}
	return nil
}

// observe notifies a channel each time that an election may have changed, until leave is
// called. Without pushes nobody announces.
func (c *core) observe(k *keyspace.Keys, changed chan struct{}) (leave func()) {
	if !c.process.Queue {
		return func() {}
	}
	c.mu.Lock()
	defer c.unlock()
	a := c.observerGroups[k.Lock()]
	if a == nil {
		a = &observerGroup{c: c, channels: make(map[chan struct{}]struct{})}
		a.keep = subscription.New(c.ctx, k.ElectionChannel(), a)
		if c.observerGroups == nil {
			c.observerGroups = make(map[string]*observerGroup)
		}
		c.observerGroups[k.Lock()] = a
		c.afterUnlock = append(c.afterUnlock, func() { go a.keep.Keep(c.store) })
	}
	a.channels[changed] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(a.channels, changed); len(a.channels) == 0 {
			a.keep.Close()
			delete(c.observerGroups, k.Lock())
		}
	}
}

func (a *observerGroup) notify() {
	for changed := range a.channels {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// Began, Confirmed, Broke and Pushed are the methods of a Listener. After each of them the
// observers look at Redis. The text of a message does not matter, anybody may publish there.
func (a *observerGroup) Began() int { return 0 }

func (a *observerGroup) Confirmed() { a.stir(func() { a.up = true }) }

func (a *observerGroup) Pushed(int, string) { a.stir(func() {}) }

func (a *observerGroup) Broke(_ error, backoff time.Duration) (jitter time.Duration) {
	a.stir(func() { a.up, jitter = false, a.c.process.Jitter(backoff) })
	return jitter
}

func (a *observerGroup) stir(note func()) {
	a.c.mu.Lock()
	defer a.c.unlock()
	note()
	a.notify()
}
