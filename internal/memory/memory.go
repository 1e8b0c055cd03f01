// Package memory has three maps that cannot grow without end. [For] forgets each value after a
// time of its own. [Recent] forgets values that are not used. [Bounded] names the oldest value
// when there are too many. None of them is safe for concurrent use.
package memory

import (
	"container/list"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// For remembers each value for a time of its own. At Limit values it forgets the oldest.
type For[V any] struct {
	Limit int // how many

	known map[string]V
	queue []entry // in the order in which they were added
}

type entry struct {
	key   string
	until clock.Instant
}

// Add remembers the value of a key from now on, for life.
func (m *For[V]) Add(key string, v V, now clock.Instant, life time.Duration) {
	if m.known == nil {
		m.known = make(map[string]V)
	}
	for len(m.queue) > 0 && (m.queue[0].until <= now || len(m.queue) >= m.Limit) {
		delete(m.known, m.queue[0].key)
		m.queue = m.queue[1:]
	}
	m.known[key] = v
	m.queue = append(m.queue, entry{key, now.Add(life)})
}

// Of returns the value of a key, or the zero value if it is not remembered.
func (m *For[V]) Of(key string) V { return m.known[key] }

// Recent remembers values that were used a short time ago. Time is cut into periods, which end
// after Age or with Limit keys. Values of this period and of the last one are remembered.
type Recent[V any] struct {
	Age   time.Duration
	Limit int

	newer, older map[string]V
	since        clock.Instant // when the newer ones began
}

// Of returns the value of a key. If there is none, it remembers and returns the result of
// fresh.
func (m *Recent[V]) Of(key string, now clock.Instant, fresh func() V) V {
	if m.newer == nil || now.Sub(m.since) > m.Age || len(m.newer) == m.Limit {
		m.older, m.newer, m.since = m.newer, make(map[string]V), now
	}
	v, ok := m.newer[key]
	if !ok {
		if v, ok = m.older[key]; !ok {
			v = fresh()
		}
		m.newer[key] = v
	}
	return v
}

// Len returns how many values are remembered. A value that was used in both periods counts
// twice.
func (m *Recent[V]) Len() int { return len(m.newer) + len(m.older) }

// Bounded remembers values until they are removed. When there are too many, Add names the
// oldest.
type Bounded[V comparable] struct {
	Limit int

	at    map[string]*list.Element
	queue list.List // of those in at, in the order in which they were added
}

// member is an element of the queue.
type member[V comparable] struct {
	key   string
	value V
}

// Add remembers the value of a key that has none. If there are more than Limit now, full is
// true, and the caller must remove the oldest.
func (m *Bounded[V]) Add(key string, v V) (oldest V, full bool) {
	if m.at == nil {
		m.at = make(map[string]*list.Element)
	}
	m.at[key] = m.queue.PushBack(member[V]{key, v})
	if len(m.at) > m.Limit {
		return m.queue.Front().Value.(member[V]).value, true
	}
	return oldest, false
}

// Of returns the value of a key, or the zero value.
func (m *Bounded[V]) Of(key string) (v V) {
	if e := m.at[key]; e != nil {
		v = e.Value.(member[V]).value
	}
	return v
}

// Remove forgets the value of a key, if it is v.
func (m *Bounded[V]) Remove(key string, v V) {
	if e := m.at[key]; e != nil && e.Value.(member[V]).value == v {
		m.queue.Remove(e)
		delete(m.at, key)
	}
}
