package engine

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/details"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/subscription"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// host implements machine.Host. Its methods are called under the mutex.
type host struct{ *Engine }

func (h host) Send(r *machine.Request) {
	if r.Unsent {
		h.renewals = append(h.renewals, r)
		return
	}
	var ctx context.Context
	if r.SharesLimit {
		ctx = h.bounds.attempt(h.ctx, r.Sent, r.Attempt)
	}
	if n := len(r.Parts); n > 0 {
		h.inflight += n - 1 // handOut handles the answer of each part
	}
	h.outbox = append(h.outbox, sending{r, ctx})
}

// bounds gives requests the context that ends their attempt. A context for each request would
// cost more than the rest of the request. So requests sent within a sixteenth of an attempt
// share one, and have up to that much less time.
type bounds struct {
	ctx    context.Context
	cancel context.CancelFunc // never called: requests may be under way; it ends by its time
	until  clock.Instant
}

// attempt returns a context for a request that is sent now.
func (b *bounds) attempt(parent context.Context, now clock.Instant, attempt time.Duration) context.Context {
	if now >= b.until {
		b.ctx, b.cancel = context.WithTimeout(parent, attempt)
		b.until = now.Add(attempt / 16)
	}
	return b.ctx
}

func (h host) Deliver(w *machine.LocalWaiter, o machine.Outcome) {
	w.Call.(*pending).ready <- o
}

func (h host) Answer(about any, err error) {
	if asked := h.asked[about]; asked != nil {
		delete(h.asked, about)
		asked <- machine.Outcome{Err: err}
	}
}

func (h host) Done(what any) {
	if wait := h.waits[what]; wait != nil {
		delete(h.waits, what)
		close(wait)
	}
}

// Note adds the time to an event and passes it on.
func (h host) Note(n machine.Event) {
	if h.Settings.Note == nil {
		return
	}
	at := time.Now()
	if n.What == machine.LeaseLost {
		at = at.Add(n.At.Sub(h.clock.Now()))
	}
	h.Settings.Note(n, at)
}

// Warn logs in a goroutine without the mutex, because the handler is code of the user.
func (h host) Warn(message string, about ...any) {
	h.afterUnlock = append(h.afterUnlock, func() { go h.Logger.Warn(message, about...) })
}

// Ended closes the channel of a turn at once, and ends its contexts after the mutex is released.
func (h host) Ended(u *machine.Turn) {
	if k := u.Name.Kind; k.Shared() {
		delete(h.waits, k) // Shrink also waits for the end of the turn
	}
	w := h.watched[u]
	if w == nil {
		return
	}
	delete(h.watched, u)
	if w.done != nil {
		close(w.done)
	}
	if enders := w.enders; len(enders) > 0 {
		w.enders = nil // a context that ends calls forget, see Watch
		ended := u.Ended.Load()
		h.afterUnlock = append(h.afterUnlock, func() {
			for x := range enders {
				x.End(ended)
			}
		})
	}
}

// ShowDetails writes the process details, if Settings.ShowsDetails is set, at most once every details.Every, and again while a
// name is in use. The Client calls it at each turn and each place in a queue.
func (h host) ShowDetails() {
	if h.detailsWritten || h.client.Closed {
		return
	}
	h.detailsWritten = true
	h.writeDetails()
	now := h.clock.Now()
	h.client.Later(now.Add(details.Every), now, func(clock.Instant) {
		h.detailsWritten = false
		if h.client.InUse() {
			h.ShowDetails()
		}
	})
}

func (h host) writeDetails() {
	if h.details.Wanted() {
		h.afterUnlock = append(h.afterUnlock, func() { go h.details.Write() })
	}
}

// watch has the channel and the Enders that wait for the end of a turn.
type watch struct {
	done   chan struct{} // made by whenDone
	keeps  any           // see Done: a channel does not keep a Client alive
	enders map[Ender]struct{}
}

// Ender gets the end of a turn. End is called without the mutex.
type Ender interface{ End(ended *machine.Ending) }

// whenDone returns a channel that is closed when the turn ends.
func (w *watch) whenDone() <-chan struct{} {
	if w.done == nil {
		w.done = make(chan struct{})
	}
	return w.done
}

// keeper connects a subscription in Redis with its machine.Subscriber.
type keeper struct {
	*subscription.Keeper
	e *Engine
	s *machine.Subscriber
}

func (h host) Listen(s *machine.Subscriber, resubscribe bool) {
	switch k := h.keepers[s]; {
	case k != nil && resubscribe:
		k.Reopen()
	case k == nil && !resubscribe: // else it was closed meanwhile
		k = &keeper{e: h.Engine, s: s}
		k.Keeper = subscription.New(h.ctx, s.Channel, k)
		h.keepers[s] = k
		h.afterUnlock = append(h.afterUnlock, func() { go k.Keep(h.store) })
	}
}

func (h host) Unlisten(s *machine.Subscriber) {
	if k := h.keepers[s]; k != nil {
		k.Close()
		delete(h.keepers, s)
	}
}

// lock locks the mutex for a change of the subscription, and unlock unlocks it. In a Cluster
// thousands of subscriptions may break at once. The mutex serves in the order of the requests, so
// a caller would wait for all of them. The turnstile lets one at a time wait for the mutex.
func (k *keeper) lock() {
	k.e.turnstile.Lock()
	k.e.mu.Lock()
}

func (k *keeper) unlock() {
	after := k.e.sendAndUnlock()
	runtime.Gosched() // else the next in the turnstile would run before a caller that the mutex has woken
	k.e.turnstile.Unlock()
	for _, f := range after {
		f()
	}
}

func (k *keeper) Began() int {
	k.lock()
	defer k.unlock()
	return k.s.OnBegin(k.e.clock.Exact())
}

func (k *keeper) Confirmed() {
	k.lock()
	defer k.unlock()
	k.s.OnConfirm(k.e.clock.Now())
}

// Broke returns a random part of backoff.
func (k *keeper) Broke(err error, backoff time.Duration) time.Duration {
	k.lock()
	defer k.unlock()
	jitter := k.e.client.Jitter(backoff)
	k.s.OnBreak(err, k.e.clock.Now())
	return jitter
}

func (k *keeper) Pushed(attempt int, payload string) {
	m, err := wire.DecodePush(payload)
	if err != nil {
		return // anybody may publish here
	}
	k.e.mu.Lock()
	defer k.e.unlock()
	k.s.OnPush(attempt, m, k.e.clock.Now())
}

// observerGroup has the observers of one election in this Client, and the one subscription that
// they share. The engine's mutex protects it.
type observerGroup struct {
	e        *Engine
	keep     *subscription.Keeper
	up       bool // the subscription is confirmed
	channels map[chan struct{}]struct{}
}

func (a *observerGroup) notify() {
	for changed := range a.channels {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// Began, Confirmed, Broke and Pushed implement subscription.Listener. After the last three the
// observers poll Redis. The text of a push is ignored, because anybody may publish it.
func (a *observerGroup) Began() int { return 0 }

func (a *observerGroup) Confirmed() { a.stir(func() { a.up = true }) }

func (a *observerGroup) Pushed(int, string) { a.stir(func() {}) }

func (a *observerGroup) Broke(_ error, backoff time.Duration) (jitter time.Duration) {
	a.stir(func() { a.up, jitter = false, a.e.client.Jitter(backoff) })
	return jitter
}

func (a *observerGroup) stir(note func()) {
	a.e.mu.Lock()
	defer a.e.unlock()
	note()
	a.notify()
}
