package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
)

// shows fails the test unless this is what a process holds and waits for.
func shows(t *testing.T, client *holdfast.Client, want ...holdfast.LocalState) {
	t.Helper()
	synctest.Wait()
	got := client.LocalState()
	slices.SortFunc(got, func(a, b holdfast.LocalState) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(got, want) {
		t.Errorf("here: got %+v, want %+v", got, want)
	}
}

// LocalState tells each name once, with what callers have and want of it: turns, shared kinds
// and candidates, which have lines of their own, and nothing of what only lingers, is
// over or belongs to others.
func TestLocalState(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: 6 * time.Second, Linger: 20 * time.Second}, 1)
		p1 := s.process("p1", 6*time.Second)
		c := p0.Client
		shows(t, c)

		first := s.lock(p0, "turns")
		second, third := s.waits(p0, "turns"), s.waits(p0, "turns")
		other := s.lock(p1, "theirs")
		next := s.waits(p0, "theirs")
		shows(t, c, holdfast.LocalState{Name: "theirs", Waiting: 1}, holdfast.LocalState{Name: "turns", Held: 1, Waiting: 2})
		other.release()
		theirs := s.soon("their name", next, time.Second)
		first.release()
		again := s.soon("the next turn", second, time.Second)
		shows(t, c, holdfast.LocalState{Name: "theirs", Held: 1}, holdfast.LocalState{Name: "turns", Held: 1, Waiting: 1})
		theirs.release()
		again.release()
		s.soon("the last turn", third, time.Second).release()
		shows(t, c) // they linger

		must := func(lease *holdfast.Lease, err error) *holdfast.Lease {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return lease
		}
		semaphore := c.Semaphore("permits", 2)
		a, b := must(semaphore.Acquire(t.Context(), 1)), must(semaphore.Acquire(t.Context(), 1))
		ctx, giveUp := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := semaphore.Acquire(ctx, 1)
			gone <- err
		}()
		leader := must(c.Election("leader").Campaign(t.Context(), "me"))
		go func() {
			_, err := c.Mutex("leader").Lock(ctx)
			gone <- err
		}()
		time.Sleep(50 * time.Millisecond)
		shows(t, c, holdfast.LocalState{Name: "leader", Held: 1, Waiting: 1}, holdfast.LocalState{Name: "permits", Held: 2, Waiting: 1})
		giveUp()
		for range 2 {
			if err := <-gone; err == nil {
				t.Error("a caller that gave up has a lease")
			}
		}
		shows(t, c, holdfast.LocalState{Name: "leader", Held: 1}, holdfast.LocalState{Name: "permits", Held: 2})
		for _, lease := range []*holdfast.Lease{a, b, leader} {
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
		shows(t, c)

		last := must(c.Mutex("last").Lock(t.Context()))
		p0.Silence(time.Minute)
		<-last.Done() // it expires, and is not released yet
		shows(t, c)
		_ = last.Release()
	})
}
