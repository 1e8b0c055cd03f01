package holdfast

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/subscription"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// coreHost does what the process wants done. The mutex is held.
type coreHost struct{ *core }

func (c coreHost) send(r *request) {
	if r.unsent {
		c.renewals = append(c.renewals, r)
		return
	}
	var ctx context.Context
	if r.part == nil && !renews(r.call.Script) && r.call.Script != script.Held && r.call.Script != script.SharedHeld {
		ctx = c.bounds.Attempt(c.ctx, r.sent, r.attempt)
	}
	if n := len(r.parts); n > 0 {
		c.inflight += n - 1 // all of them come back
	}
	c.outbox = append(c.outbox, sending{r, ctx})
}

func (coreHost) notBefore(string) clock.Instant { return 0 }

func (c coreHost) deliver(w *waiter, o outcome) {
	o.err = publicError(o.err)
	w.call.(*pending).ready <- o
}

func (c coreHost) answer(about any, err error) {
	if asked := c.asked[about]; asked != nil {
		delete(c.asked, about)
		asked <- publicError(err)
	}
}

func (c coreHost) done(what any) {
	if wait := c.waits[what]; wait != nil {
		delete(c.waits, what)
		close(wait)
	}
}

// whenDone returns a channel that closes when the process is done with what.
func (c *core) whenDone(what any) <-chan struct{} {
	wait := c.waits[what]
	if wait == nil {
		wait = make(chan struct{})
		c.waits[what] = wait
	}
	return wait
}

// whenCleaned returns a channel that closes when the removal has ended.
func (c *core) whenCleaned(u *removal) <-chan struct{} {
	if u.ended {
		return alreadyClosed
	}
	return c.whenDone(u)
}

var alreadyClosed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// note tells OnEvent.
func (c coreHost) note(e event) {
	if c.events != nil {
		c.emit(c.publicEvent(&e))
	}
}

// warn logs outside the mutex and outside the loop: the handler is the user's
// code.
func (c coreHost) warn(message string, about ...any) {
	c.afterUnlock = append(c.afterUnlock, func() { go c.options.Logger.Warn(message, about...) })
}

// keeper is the engine's part of a subscription.
type keeper struct {
	*subscription.Keeper
	c *core
	s *subscriber
}

func (c coreHost) listen(s *subscriber, resubscribe bool) {
	k := c.keepers[s]
	if k == nil && resubscribe {
		return // it was closed meanwhile
	}
	if k == nil {
		k = &keeper{c: c.core, s: s}
		k.Keeper = subscription.New(c.ctx, s.channel, k)
		c.keepers[s] = k
		c.afterUnlock = append(c.afterUnlock, func() { go k.Keep(c.store) })
	}
	if resubscribe {
		k.Reopen()
	}
}

func (c coreHost) unlisten(s *subscriber) {
	if k := c.keepers[s]; k != nil {
		k.Close()
		delete(c.keepers, s)
	}
}

// lock locks the mutex for a change of the subscription, and unlock unlocks it. In a Cluster
// thousands may end at once. The mutex is handed on in the order of the requests, so a caller
// would wait for all of them: one at a time asks for it.
func (k *keeper) lock() {
	k.c.turnstile.Lock()
	k.c.mu.Lock()
}

func (k *keeper) unlock() {
	after := k.c.unlockAndSend()
	runtime.Gosched() // the next in the turnstile would run before a caller that the mutex has woken
	k.c.turnstile.Unlock()
	for _, f := range after {
		f()
	}
}

func (k *keeper) Began() int {
	k.lock()
	defer k.unlock()
	return k.s.onBegin(k.c.clock.Exact())
}

func (k *keeper) Confirmed() {
	k.lock()
	defer k.unlock()
	k.s.onConfirm(k.c.clock.Now())
}

// Broke returns a random part of backoff.
func (k *keeper) Broke(err error, backoff time.Duration) time.Duration {
	k.lock()
	defer k.unlock()
	jitter := k.c.process.jitter(backoff)
	k.s.onBreak(err, k.c.clock.Now())
	return jitter
}

func (k *keeper) Pushed(attempt int, payload string) {
	m, err := wire.DecodePush(payload)
	if err != nil {
		return // anybody may publish here
	}
	k.c.mu.Lock()
	defer k.c.unlock()
	k.s.onPush(attempt, m, k.c.clock.Now())
}
