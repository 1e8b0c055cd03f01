// Package memo keeps answers for a moment, so that many equal requests at a time cost as
// much as one.
package memo

import (
	"context"
	"sync"
	"time"
)

// Memo keeps an answer for each of at most Most keys.
type Memo[V any] struct {
	Max int

	mu    sync.Mutex // protects known
	known map[string]*entry[V]
}

// Answer is what a question was answered last.
type Answer[V any] struct {
	Value V
	Err   error
	At    time.Time     // when it came; zero: it was never asked
	Took  time.Duration // to ask
}

type entry[V any] struct {
	turn   chan struct{} // one asks at a time
	answer Answer[V]
}

// Get returns the answer to a key: the last one while it is good, else that of ask. If ctx
// ends while another asks, the answer is its error.
func (m *Memo[V]) Get(ctx context.Context, key string, good func(Answer[V]) bool, ask func() (V, error)) Answer[V] {
	m.mu.Lock()
	e := m.known[key]
	if e == nil {
		if m.known == nil || len(m.known) >= m.Max {
			m.known = make(map[string]*entry[V])
		}
		e = &entry[V]{turn: make(chan struct{}, 1)}
		m.known[key] = e
	}
	m.mu.Unlock()
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return Answer[V]{Err: ctx.Err()}
	}
	if e.answer.At.IsZero() || !good(e.answer) {
		began := time.Now()
		v, err := ask()
		e.answer = Answer[V]{v, err, time.Now(), time.Since(began)}
	}
	return e.answer
}
