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

const (
	share = 2000 // keys that are remembered for one token; without tokens, for all clients
	asked = 4    // leases that are checked if a share is full
)

// Memory answers a request that comes again, because its answer was lost, with the
// lease that it got the first time. It remembers a key for the ttl of the lease. If the
// lease has ended, the key makes room for another. Each token has its own room, so it
// cannot keep the keys of another out.
type Memory struct {
	what string
	over func(ctx context.Context, text string) bool

	mu     sync.Mutex // protects the rest
	known  map[hash]map[hash]*repeat
	leases map[string]ID // of the texts in known
}

type hash = [sha256.Size]byte

// ID is the key of a request, and the token that sent it.
type ID struct {
	token, key hash
	who        string
}

// NewID makes an ID.
func NewID(by auth.Principal, key string) ID {
	who := "the server"
	if by.Label != "" {
		who = "the token of " + by.Label
	}
	return ID{by.Token(), sha256.Sum256([]byte(key)), who}
}

// Grant takes a lease.
type Grant func(context.Context) (text string, err error)

// Drop releases a lease that no client knows.
type Drop func(text string)

type repeat struct {
	body   hash
	asking int // requests that wait for it
	cancel context.CancelFunc
	done   chan struct{} // closed when the rest is there
	text   string
	err    error
	until  time.Time // zero: not done
	ended  bool      // its lease
}

// New makes a Memory. Its errors call the keys what, such as "Idempotency-Keys". The function
// over reports whether a lease has ended.
func New(what string, over func(ctx context.Context, text string) bool) *Memory {
	return &Memory{what: what, over: over, known: make(map[hash]map[hash]*repeat), leases: make(map[string]ID)}
}

// Do runs grant, unless a grant with this id runs or has run: then it returns that outcome.
// Outcomes without a lease are not remembered. When all requests with this id have gone, grant
// is cancelled, and drop gets what was granted nevertheless.
func (s *Memory) Do(ctx context.Context, id ID, body hash, ttl time.Duration, grant Grant, drop Drop) (text string, again bool, err error) {
	s.mu.Lock()
	if s.find(id) == nil && !s.room(id) {
		s.askSome(ctx, id)
	}
	v := s.find(id)
	switch {
	case v != nil:
		if again = true; v.body != body {
			s.mu.Unlock()
			return "", true, reply.NewProblem("key-reused", "this Idempotency-Key came with another body: use a new key for each request")
		}
	case !s.room(id):
		s.mu.Unlock()
		return "", false, reply.NewProblem("busy", "%s has %d %s in use, the most that it can have: release leases, or use shorter ttls", id.who, share, s.what)
	default:
		v = &repeat{body: body, done: make(chan struct{})}
		var own context.Context
		own, v.cancel = context.WithCancel(context.WithoutCancel(ctx))
		if s.known[id.token] == nil {
			s.known[id.token] = make(map[hash]*repeat)
		}
		s.known[id.token][id.key] = v
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
	if err != nil {
		s.remove(id)
	} else {
		s.leases[text] = id
	}
	v.cancel()
	close(v.done)
}

// Forget forgets a text; empty: any text of the ID.
func (s *Memory) Forget(id ID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.find(id); v != nil && !v.until.IsZero() && (text == "" || v.text == text) {
		s.remove(id)
	}
}

// Ended notes that a lease has ended: its key need not be remembered.
func (s *Memory) Ended(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.leases[text]; ok {
		s.known[id.token][id.key].ended = true
	}
}

// find returns what is remembered of an ID, and removes what is over.
func (s *Memory) find(id ID) *repeat {
	v := s.known[id.token][id.key]
	if v != nil && !v.until.IsZero() && !time.Now().Before(v.until) {
		s.remove(id)
		return nil
	}
	return v
}

func (s *Memory) remove(id ID) {
	of := s.known[id.token]
	if v := of[id.key]; v != nil {
		delete(s.leases, v.text)
	}
	if delete(of, id.key); len(of) == 0 {
		delete(s.known, id.token)
	}
}

// room makes room for one more of a token, if there is none, of those that are over.
func (s *Memory) room(id ID) bool {
	of := s.known[id.token]
	if len(of) < share {
		return true
	}
	now := time.Now()
	for key, v := range of {
		if v.ended || !v.until.IsZero() && !now.Before(v.until) {
			s.remove(ID{token: id.token, key: key})
		}
	}
	return len(of) < share
}

// askSome asks the store about some leases of a token: another server or program may have
// ended them. It unlocks mu meanwhile.
func (s *Memory) askSome(ctx context.Context, id ID) {
	var texts []string
	for _, v := range s.known[id.token] {
		if !v.until.IsZero() && len(texts) < asked {
			texts = append(texts, v.text)
		}
	}
	s.mu.Unlock()
	for _, text := range texts {
		if s.over(ctx, text) {
			s.Ended(text)
		}
	}
	s.mu.Lock()
}
