package sim

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// subscription is one at the server, with the network between.
type subscription struct {
	link  *Link
	inner driver.Subscription
	done  chan struct{}
	once  sync.Once
	deaf  atomic.Bool

	mu   sync.Mutex
	last time.Time // when the newest push arrives
}

// Subscribe opens one. See driver.Store.
func (l *Link) Subscribe(ctx context.Context, channel string, message func(string)) (driver.Subscription, error) {
	f := l.fate(Step{Kind: "subscribe"})
	w := l.world
	fail := func() (driver.Subscription, error) {
		if !f.Reset && !f.Torn {
			select {
			case <-ctx.Done():
			case <-w.over:
			}
		}
		return nil, errReset
	}
	if !w.sleep(f.Out) || f.LoseOut || l.quiet() {
		return fail()
	}
	w.mu.Lock()
	down := w.down
	w.mu.Unlock()
	if down {
		return nil, errDown
	}
	s := &subscription{link: l, done: make(chan struct{})}
	inner, err := w.server.Subscribe(context.Background(), channel, func(payload string) { s.push(message, payload) })
	if err != nil {
		return nil, err
	}
	s.inner = inner
	w.mu.Lock()
	l.subs[s] = struct{}{}
	w.mu.Unlock()
	if !w.sleep(f.Back) || f.LoseBack || f.Torn || l.unheard() {
		s.Close()
		return fail()
	}
	return s, nil
}

// push lets a message travel. Those of one connection arrive in order, unless
// the network is to break even that.
func (s *subscription) push(message func(string), payload string) {
	kind, rest, _ := strings.Cut(payload, " ")
	id := rest[strings.LastIndexByte(rest, ' ')+1:]
	w := s.link.world
	w.Watch.pushed(payload)
	w.Log.Pushed(time.Since(w.began), s.link.Owner, payload)
	f := s.link.fate(Step{Kind: kind, Push: true, ID: id, Args: strings.Fields(payload)})
	if f.LoseOut {
		return
	}
	s.mu.Lock()
	at := time.Now().Add(f.Out)
	if !f.Overtake && !at.After(s.last) {
		at = s.last.Add(1)
	}
	s.last = at
	s.mu.Unlock()
	deliver := func(wait time.Duration) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.closed {
			return
		}
		w.moving.Go(func() {
			if w.sleep(max(wait, 1)) && !s.ended() && !s.link.unheard() && s.link.awake(s.done) {
				message(payload)
			}
		})
	}
	deliver(time.Until(at))
	if f.Twice {
		deliver(time.Until(at) + 1)
	}
	if f.Again > 0 {
		deliver(time.Until(at) + f.Again)
	}
}

func (s *subscription) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *subscription) Ping(ctx context.Context) error {
	if s.link.quiet() || s.link.unheard() || s.deaf.Load() || s.link.paused() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return errReset
		}
	}
	return s.inner.Ping(ctx)
}

func (s *subscription) Done() <-chan struct{} { return s.done }

func (s *subscription) Close() {
	s.once.Do(func() {
		s.link.world.mu.Lock()
		delete(s.link.subs, s)
		s.link.world.mu.Unlock()
		s.inner.Close()
		close(s.done)
	})
}
