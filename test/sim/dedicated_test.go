package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// dedicated locks a name under an owner and a ttl of its own.
func (s stage) dedicated(l *sim.Link, name, owner string, ttl time.Duration) hold {
	s.t.Helper()
	h := s.Watch.Called(l, name)
	m := l.Client.Mutex(name)
	m.Owner, m.TTL = owner, ttl
	lease, err := m.Lock(s.t.Context())
	if err != nil {
		s.t.Fatalf("%s locks %s for %s: %v\n%s", l.Owner, name, owner, err, s.History(200))
	}
	s.Watch.Granted(h, lease)
	return hold{lease, h, s}
}

// owner is whom people see as the holder of a name.
func (s stage) owner(l *sim.Link, name string) string {
	state, err := admin.Of(l.Client).Inspect(context.Background(), name)
	if err != nil || state.Holder == nil {
		return fmt.Sprint("nobody: ", err)
	}
	return state.Holder.Owner
}

// A lease with an owner and a ttl of its own, longer or shorter than its Client's,
// by an answer or a push: it is seen by that name, renewed in time, over for its
// holder before it is in Redis, and free that long after the crash of its process.
func TestDedicated(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	longest := 20 * time.Second
	if long() {
		longest = time.Minute
	}
	for _, pushed := range []bool{false, true} {
		for _, ttl := range []time.Duration{time.Second, 3 * time.Second, longest} {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
				if pushed {
					first := s.lock(p1, "n")
					time.AfterFunc(5*time.Second, func() { first.release() })
				}
				got := s.dedicated(p0, "n", "ci-7", ttl)
				for range 3 {
					state, err := admin.Of(p1.Client).Inspect(t.Context(), "n")
					if err != nil || state.Holder == nil || state.Holder.Owner != "ci-7" || state.Holder.TTL != ttl {
						t.Fatalf("Inspect: %+v, %v; want ci-7 with ttl %v", state, err, ttl)
					}
					s.lookFor("n", 2*ttl)
					lock, _, _ := sim.Keys("n")
					left, _ := s.Do("PTTL", lock).(int64)
					if believed := got.Remaining(); got.Err() != nil || believed > time.Duration(left)*time.Millisecond {
						t.Fatalf("it has %v left while the lock key has %d ms: %v", believed, left, got.Err())
					}
				}
				next := s.waits(p1, "n")
				s.Watch.Leaves(got.held)
				p0.Kill()
				s.notBefore("the next", next, ttl/2)
				s.soon("the next", next, ttl+time.Second).release()
			})
		}
	}
}

// A ttl out of range is a mistake of the program.
func TestDedicatedOutOfRange(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		for _, ttl := range []time.Duration{-1, time.Millisecond, holdfast.MaxTTL + 1, holdfast.MinTTL + 1} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("ttl %v: want a panic", ttl)
					}
				}()
				m := p0.Client.Mutex("n")
				m.TTL = ttl
				_, _ = m.TryLock(context.Background())
			}()
		}
	})
}
