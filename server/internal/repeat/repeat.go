// Package repeat gives a repeated request the answer of the first one.
package repeat

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

const maxRepeats = 10_000 // keys that are remembered

// Memory answers a request that comes again, because its answer was lost, with the
// lease that it got the first time. It remembers a key for the ttl of that.
type Memory struct {
	mu    sync.Mutex // guards the rest
	known map[ID]*repeat
	lossy bool // when there is no room it forgets one
}

// ID is the key of a request, and the token that sent it.
type ID struct{ token, key [sha256.Size]byte }

// NewID makes an ID.
func NewID(by auth.Principal, key string) ID { return ID{by.Token(), sha256.Sum256([]byte(key))} }

// Grant takes a lease.
type Grant func(context.Context) (text string, err error)

// Drop releases a lease that no client knows.
type Drop func(text string)

type repeat struct {
	body   [sha256.Size]byte
	asking int // requests that wait for it
	cancel context.CancelFunc
	done   chan struct{} // closed when the rest is there
	text   string
	err    error
	until  time.Time // zero: not done
}

// New makes a Memory. A lossy one forgets keys when there is no room; else it refuses new ones.
func New(lossy bool) *Memory { return &Memory{known: make(map[ID]*repeat), lossy: lossy} }

// Do runs grant, unless a grant with this id runs or has run: then it returns that outcome.
// Outcomes without a lease are not remembered. When all requests with this id have gone, grant
// is cancelled, and drop gets what was granted nevertheless.
func (s *Memory) Do(ctx context.Context, id ID, body [sha256.Size]byte, ttl time.Duration, grant Grant, drop Drop) (text string, again bool, err error) {
	s.mu.Lock()
	v := s.known[id]
	switch {
	case v != nil && (v.until.IsZero() || time.Now().Before(v.until)):
		if again = true; v.body != body {
			s.mu.Unlock()
			return "", true, reply.NewProblem("key-reused", "this Idempotency-Key came with another body: use a new key for each request")
		}
	case !s.room():
		s.mu.Unlock()
		return "", false, reply.NewProblem("busy", "%d Idempotency-Keys are in use, the most that this server allows", maxRepeats)
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
		text, err = v.text, v.err
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

func (s *Memory) run(ctx context.Context, id ID, v *repeat, ttl time.Duration, grant Grant, drop Drop) {
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

// Forget forgets a text; empty: any text of the ID.
func (s *Memory) Forget(id ID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.known[id]; v != nil && !v.until.IsZero() && (text == "" || v.text == text) {
		delete(s.known, id)
	}
}

// room makes room for one more, if there is none, of those that are over.
func (s *Memory) room() bool {
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
