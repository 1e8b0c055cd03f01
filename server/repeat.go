package server

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	maxKey     = 255    // bytes of an Idempotency-Key
	maxRepeats = 10_000 // keys that are remembered
)

// repeats answers a request that comes again, because its answer was lost, with the
// lease that it got the first time. It remembers a key for the ttl of that.
type repeats struct {
	mu    sync.Mutex // guards the rest
	known map[repeatID]*repeat
	lossy bool // when there is no room it forgets one
}

type repeatID struct {
	who [32]byte // Principal.id
	key [32]byte
}

type repeat struct {
	body   [32]byte
	asking int // requests that wait for it
	cancel context.CancelFunc
	done   chan struct{} // closed when the rest is there
	text   string
	err    error
	until  time.Time // zero: not done
}

func newRepeats(lossy bool) *repeats {
	return &repeats{known: make(map[repeatID]*repeat), lossy: lossy}
}

// do runs grant, unless one with this id has run or runs: then it is that one's
// outcome. It is not remembered that none was granted. When all who ask have gone grant is cancelled, and
// drop gets what was granted all the same.
func (s *repeats) do(ctx context.Context, id repeatID, body [32]byte, ttl time.Duration, grant func(context.Context) (string, error), drop func(string)) (text string, again bool, err error) {
	s.mu.Lock()
	v := s.known[id]
	switch {
	case v != nil && (v.until.IsZero() || time.Now().Before(v.until)):
		if again = true; v.body != body {
			s.mu.Unlock()
			return "", true, newProblem(http.StatusUnprocessableEntity, "key-reused", "this Idempotency-Key came with another body: use a new key for each request")
		}
	case !s.room():
		s.mu.Unlock()
		p := newProblem(http.StatusServiceUnavailable, "busy", "%d Idempotency-Keys are in use, the most that this server allows", maxRepeats)
		p.retryAfter = 1
		return "", false, p
	default:
		v = &repeat{body: body, done: make(chan struct{})}
		var own context.Context
		own, v.cancel = context.WithCancel(context.WithoutCancel(ctx))
		s.known[id] = v
		go s.run(own, id, v, ttl, grant, drop)
	}
	v.asking++
	s.mu.Unlock()
	select {
	case <-v.done:
		err = v.err
		text = v.text
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.asking--; v.asking == 0 && v.until.IsZero() {
		v.cancel()
	}
	return text, again, err
}

func (s *repeats) run(ctx context.Context, id repeatID, v *repeat, ttl time.Duration, grant func(context.Context) (string, error), drop func(string)) {
	text, err := grant(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && v.asking == 0 && ctx.Err() != nil {
		drop(text)
		err = ctx.Err()
	}
	v.text, v.err, v.until = text, err, time.Now().Add(ttl)
	if err != nil && s.known[id] == v {
		delete(s.known, id)
	}
	v.cancel()
	close(v.done)
}

// forget forgets a text, whatever it is if it is empty.
func (s *repeats) forget(id repeatID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.known[id]; v != nil && !v.until.IsZero() && (text == "" || v.text == text) {
		delete(s.known, id)
	}
}

// room makes room for one more, if there is none, of those that are over.
func (s *repeats) room() bool {
	if len(s.known) < maxRepeats {
		return true
	}
	now := time.Now()
	for id, v := range s.known {
		if !v.until.IsZero() && now.After(v.until) {
			delete(s.known, id)
		}
	}
	for id, v := range s.known {
		if s.lossy && !v.until.IsZero() && len(s.known) >= maxRepeats {
			delete(s.known, id)
		}
	}
	return len(s.known) < maxRepeats
}
