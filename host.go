package holdfast

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/subscription"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// coreHost does what the process wants done. The mutex is held.
type coreHost struct{ *core }

func (c coreHost) Send(r *machine.Request) {
	if r.Unsent {
		c.renewals = append(c.renewals, r)
		return
	}
	var ctx context.Context
	if r.Part == nil && !machine.Renews(r.Call.Script) && r.Call.Script != script.Held && r.Call.Script != script.SharedHeld {
		ctx = c.bounds.Attempt(c.ctx, r.Sent, r.Attempt)
	}
	if n := len(r.Parts); n > 0 {
		c.inflight += n - 1 // all of them come back
	}
	c.outbox = append(c.outbox, sending{r, ctx})
}

func (coreHost) NotBefore(string) clock.Instant { return 0 }

func (c coreHost) Deliver(w *machine.Waiter, o machine.Outcome) {
	o.Err = publicError(o.Err)
	w.Call.(*pending).ready <- o
}

func (c coreHost) Answer(about any, err error) {
	if asked := c.asked[about]; asked != nil {
		delete(c.asked, about)
		asked <- publicError(err)
	}
}

func (c coreHost) Done(what any) {
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
func (c *core) whenCleaned(u *machine.Removal) <-chan struct{} {
	if u.Ended {
		return alreadyClosed
	}
	return c.whenDone(u)
}

var alreadyClosed = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// Note tells OnEvent.
func (c coreHost) Note(e machine.Event) {
	if c.events != nil {
		c.emit(c.publicEvent(&e))
	}
}

// Warn logs outside the mutex and outside the loop: the handler is the user's
// code.
func (c coreHost) Warn(message string, about ...any) {
	c.afterUnlock = append(c.afterUnlock, func() { go c.options.Logger.Warn(message, about...) })
}

// keeper is the engine's part of a subscription.
type keeper struct {
	*subscription.Keeper
	c *core
	s *machine.Subscriber
}

func (c coreHost) Listen(s *machine.Subscriber, resubscribe bool) {
	k := c.keepers[s]
	if k == nil && resubscribe {
		return // it was closed meanwhile
	}
	if k == nil {
		k = &keeper{c: c.core, s: s}
		k.Keeper = subscription.New(c.ctx, s.Channel, k)
		c.keepers[s] = k
		c.afterUnlock = append(c.afterUnlock, func() { go k.Keep(c.store) })
	}
	if resubscribe {
		k.Reopen()
	}
}

func (c coreHost) Unlisten(s *machine.Subscriber) {
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
	return k.s.OnBegin(k.c.clock.Exact())
}

func (k *keeper) Confirmed() {
	k.lock()
	defer k.unlock()
	k.s.OnConfirm(k.c.clock.Now())
}

// Broke returns a random part of backoff.
func (k *keeper) Broke(err error, backoff time.Duration) time.Duration {
	k.lock()
	defer k.unlock()
	jitter := k.c.process.Jitter(backoff)
	k.s.OnBreak(err, k.c.clock.Now())
	return jitter
}

func (k *keeper) Pushed(attempt int, payload string) {
	m, err := wire.DecodePush(payload)
	if err != nil {
		return // anybody may publish here
	}
	k.c.mu.Lock()
	defer k.c.unlock()
	k.s.OnPush(attempt, m, k.c.clock.Now())
}
