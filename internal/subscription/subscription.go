// Package subscription keeps one subscription to a channel alive: it subscribes, pings, and
// subscribes again after a pause when the subscription has ended or is silent. Make a [Keeper]
// with [New], and run [Keeper.Keep] in a goroutine of its own. It reports to a [Listener] and
// decides nothing about a lock.
package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// A Listener gets the reports of a [Keeper]. [Keeper.Keep] calls all methods but Pushed, one
// after the other. The driver calls Pushed, in a goroutine of its own: Pushed must not block
// for long.
type Listener interface {
	// Began is called before each attempt to subscribe, and numbers it.
	Began() (attempt int)
	// Confirmed is called when the server has confirmed the newest attempt.
	Confirmed()
	// Broke is called when the newest attempt has failed or ended. It returns a random part of
	// backoff. Keep waits half of backoff and that part before the next attempt.
	Broke(err error, backoff time.Duration) time.Duration
	// Pushed is called for each message. An earlier attempt than the newest may still deliver
	// some.
	Pushed(attempt int, payload string)
}

const (
	pingEvery   = 5 * time.Second
	pingSilence = 5 * time.Second // for the answer: 10 s in all

	minBackoff = 20 * time.Millisecond
	maxBackoff = time.Second
)

var (
	errEnded   = errors.New("the connection ended")
	errUnknown = errors.New("the server does not know the subscription")
)

// Keeper keeps one subscription. Make it with [New].
type Keeper struct {
	channel  string
	listener Listener
	ctx      context.Context
	cancel   context.CancelFunc
	again    chan struct{}
}

// New returns a Keeper that has not subscribed yet. It closes when life ends, at the latest.
func New(life context.Context, channel string, l Listener) *Keeper {
	k := &Keeper{channel: channel, listener: l, again: make(chan struct{}, 1)}
	k.ctx, k.cancel = context.WithCancel(life)
	return k
}

// Close ends the subscription. It does not wait for that.
func (k *Keeper) Close() { k.cancel() }

// Closed reports whether the subscription was closed, or its life has ended.
func (k *Keeper) Closed() bool { return k.ctx.Err() != nil }

// Reopen makes Keep subscribe again. It is for a server that seems not to know the
// subscription. It does not block.
func (k *Keeper) Reopen() {
	select {
	case k.again <- struct{}{}:
	default:
	}
}

// Keep holds the subscription open until it is closed.
func (k *Keeper) Keep(store driver.Store) {
	backoff := minBackoff
	for k.ctx.Err() == nil {
		attempt := k.listener.Began()
		sub, err := call.Subscribe(k.ctx, store, k.channel, func(payload string) { k.listener.Pushed(attempt, payload) })
		if err == nil {
			backoff = minBackoff
			k.listener.Confirmed()
			err = k.watch(sub)
			sub.Close()
		}
		if k.ctx.Err() != nil {
			return
		}
		if said, ok := wire.AsServerError(err); ok && !wire.Transient(said) {
			err = fmt.Errorf("waiting needs the right to subscribe to the channels %s: %w", keyspace.Channels, wire.Explain(said, ""))
		}
		wait := backoff/2 + k.listener.Broke(err, backoff)
		backoff = min(2*backoff, maxBackoff)
		select {
		case <-time.After(wait):
		case <-k.ctx.Done():
		}
	}
}

// watch returns when the subscription has ended or gives no sign of life.
func (k *Keeper) watch(sub driver.Subscription) error {
	next := time.NewTimer(pingEvery)
	defer next.Stop()
	for {
		select {
		case <-sub.Done():
			return errEnded
		case <-k.again:
			return errUnknown
		case <-k.ctx.Done():
			return k.ctx.Err()
		case <-next.C:
		}
		if err := k.ping(sub); err != nil {
			return err
		}
		next.Reset(pingEvery)
	}
}

func (k *Keeper) ping(sub driver.Subscription) error {
	ctx, cancel := context.WithTimeout(k.ctx, pingSilence)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- sub.Ping(ctx) }()
	select {
	case err := <-done:
		return err
	case <-sub.Done():
		return errEnded
	case <-k.again: // as another server said; this one is silent
		return errUnknown
	case <-ctx.Done():
		return ctx.Err()
	}
}
