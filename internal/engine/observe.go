package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/election"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/subscription"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Observe yields the leader of an election, and then each change, until ctx ends or yield returns
// false. It yields an error and then asks again. After a *machine.BadName or wire.ErrClosed it
// returns.
func (e *Engine) Observe(ctx context.Context, name string, yield func(election.Leader, error) bool) {
	k, err := e.OpenKeys(name)
	if err != nil {
		yield(election.Leader{}, err)
		return
	}
	changed := make(chan struct{}, 1)
	defer e.observe(k, changed)()
	var seen election.Sight
	for {
		view, err := e.servers.leader(ctx, name, k, e.Attempt())
		if ctx.Err() != nil {
			return
		}
		if news, isNew := seen.Take(view, err); isNew && !yield(news, err) {
			return
		}
		select {
		case <-time.After(e.observePause(k, &seen)):
		case <-changed:
		case <-ctx.Done():
			return
		case <-e.Stopped:
			if ctx.Err() == nil {
				yield(election.Leader{}, wire.ErrClosed)
			}
			return
		}
	}
}

// Leader returns the leader of an election.
func (e *Engine) Leader(ctx context.Context, name string) (election.Leader, error) {
	k, err := e.OpenKeys(name)
	if err != nil {
		return election.Leader{}, err
	}
	view, err := e.servers.leader(ctx, name, k, e.Patience())
	return view.Leader, err
}

// observePause returns how long an observer waits for an announcement before it polls.
func (e *Engine) observePause(k *keyspace.Keys, seen *election.Sight) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.observerGroups[k.Lock()]
	return seen.Pause(a != nil && a.up, e.client.Jitter)
}

// observe notifies a channel each time that an election may have changed, until leave is called.
// On a quorum it does nothing, because there are no announcements.
func (e *Engine) observe(k *keyspace.Keys, changed chan struct{}) (leave func()) {
	if !e.Queue {
		return func() {}
	}
	e.mu.Lock()
	defer e.unlock()
	a := e.observerGroups[k.Lock()]
	if a == nil {
		a = &observerGroup{e: e, channels: make(map[chan struct{}]struct{})}
		a.keep = subscription.New(e.ctx, k.ElectionChannel(), a)
		if e.observerGroups == nil {
			e.observerGroups = make(map[string]*observerGroup)
		}
		e.observerGroups[k.Lock()] = a
		e.afterUnlock = append(e.afterUnlock, func() { go a.keep.Keep(e.store) })
	}
	a.channels[changed] = struct{}{}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(a.channels, changed); len(a.channels) == 0 {
			a.keep.Close()
			delete(e.observerGroups, k.Lock())
		}
	}
}
