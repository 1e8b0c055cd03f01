package sim_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// A frozen Client costs those behind it one claim window, whatever it waits for and
// however many wait in it; when it goes on each of them has its place again.

const (
	claimWindow = 2 * time.Second
	lookAfter   = 100 * time.Millisecond // until somebody sees that a window is over
	lookEach    = 50 * time.Millisecond  // and for each waiter in front
	trusts      = 15 * time.Second       // how long a waiter of a mutex behind 15 others trusts in the holder's ttl
)

// kinds are the ways to wait for a name.
var kinds = map[string]func(s stage, l *sim.Link, n int) <-chan hold{
	"writer":   func(s stage, l *sim.Link, _ int) <-chan hold { return s.wants(l, "n", write) },
	"permits":  func(s stage, l *sim.Link, _ int) <-chan hold { return s.wants(l, "n", permits(1, 1)) },
	"three":    func(s stage, l *sim.Link, _ int) <-chan hold { return s.wants(l, "n", permits(3, 4)) },
	"mutex":    func(s stage, l *sim.Link, _ int) <-chan hold { return s.waits(l, "n") },
	"owner":    func(s stage, l *sim.Link, n int) <-chan hold { return s.waitsDedicated(l, "n", fmt.Sprint("o", n)) },
	"campaign": func(s stage, l *sim.Link, n int) <-chan hold { return s.waitsToLead(l, "n", fmt.Sprint("v", n)) },
}

// three processes, which are numbered from 0.
func (s stage) three(ttl time.Duration) (p0, p1, p2 *sim.Link) {
	return s.process("p0", ttl), s.process("p1", ttl), s.process("p2", ttl)
}

// waitsDedicated is waits with an owner of its own.
func (s stage) waitsDedicated(l *sim.Link, name, owner string) <-chan hold {
	m := l.Client.Mutex(name)
	m.Owner = owner
	return s.waitsBy(l, name, m.Lock)
}

// waitsToLead is waits of a candidate.
func (s stage) waitsToLead(l *sim.Link, name, value string) <-chan hold {
	return s.waitsBy(l, name, func(ctx context.Context) (*holdfast.Lease, error) {
		return l.Client.Election(name).Campaign(ctx, value)
	})
}

func (s stage) waitsBy(l *sim.Link, name string, lock func(context.Context) (*holdfast.Lease, error)) <-chan hold {
	got := make(chan hold, 1)
	h := s.Watch.Called(l, name)
	go func() {
		switch lease, err := lock(context.Background()); {
		case err == nil:
			s.Watch.Granted(h, lease)
			got <- hold{lease, h, s}
		case !l.Dead():
			s.Watch.Broken("%s waits for %s: %v", l.Owner, name, err)
			close(got)
		}
	}()
	time.Sleep(20 * time.Millisecond)
	return got
}

// A Client is frozen while one, or ten of its callers, wait in front of another. That
// one has waited for one claim window when it gets the name. The frozen ones keep their
// places: when they go on they come before a process that came after them.
func TestFrozenCostsOneWindow(t *testing.T) {
	for kind, wait := range kinds {
		for _, n := range []int{1, 10, 20} {
			t.Run(fmt.Sprint(kind, n), func(t *testing.T) {
				play(t, func(t *testing.T, s stage) {
					p0, p1, p2, p3 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second), s.process("p3", 15*time.Second)
					first := s.soon("the first", wait(s, p0, 0), time.Second)
					var frozen []<-chan hold
					for i := range n {
						frozen = append(frozen, wait(s, p1, i+1))
					}
					next := wait(s, p2, 98)
					time.Sleep(5 * time.Second)
					go p1.Pause(12 * time.Second)
					time.Sleep(time.Millisecond)
					first.release()
					got := s.soon("the next", next, claimWindow+lookAfter+time.Duration(n)*lookEach)
					last := wait(s, p3, 99)
					time.Sleep(15 * time.Second)
					got.release()
					for i := range frozen {
						s.soon(fmt.Sprint("thawed ", i), frozen[i], lookAfter).release()
					}
					s.soon("the last", last, lookAfter).release()
				})
			})
		}
	}
}

// Callers of a frozen Client stand among those of others that live, with three places
// between them. They cost one claim window together, not one each.
func TestFrozenAmongTheLiving(t *testing.T) {
	for kind, wait := range kinds {
		if kind == "mutex" {
			continue // a process has one place in it
		}
		t.Run(kind, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				const n, rows = 5, 3
				p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
				others := []*sim.Link{s.process("p2", 15*time.Second), s.process("p3", 15*time.Second), s.process("p4", 15*time.Second)}
				first := s.soon("the first", wait(s, p0, 0), time.Second)
				var frozen, living []<-chan hold
				for i := range n {
					frozen = append(frozen, wait(s, p1, 2*i+1))
					for j := range rows {
						living = append(living, wait(s, others[j], 100*i+2*j+2))
					}
				}
				go p1.Pause(12 * time.Second)
				time.Sleep(time.Millisecond)
				first.release()
				left := claimWindow + lookAfter + n*(1+rows)*lookEach
				for i := range living {
					since := time.Now()
					s.soon(fmt.Sprint("living ", i), living[i], left).release()
					left -= time.Since(since)
				}
				time.Sleep(15 * time.Second)
				var thawed sync.WaitGroup
				for i := range frozen { // the name was free, so the first to ask had it first
					thawed.Go(func() { s.soon(fmt.Sprint("thawed ", i), frozen[i], time.Second).release() })
				}
				thawed.Wait()
			})
		})
	}
}

// Readers overlap, so that the name is never free, and three writers wait in each of one,
// five or twenty processes that are frozen. After its window a process costs the readers nothing more.
func TestFrozenWritersAndReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	const each = 3
	rounds := map[int]int{}
	for _, writers := range []int{0, 1, 5, 20} {
		play(t, func(t *testing.T, s stage) {
			p := s.process("long", 15*time.Second)
			long := s.take(p, "n", read)
			frozen := make([]*sim.Link, writers)
			for i := range frozen {
				frozen[i] = s.process(fmt.Sprint("frozen", i), 15*time.Second)
				for range each {
					s.wants(frozen[i], "n", write)
				}
			}
			for _, f := range frozen {
				go f.Pause(10 * time.Minute)
			}
			reader := s.process("short", 15*time.Second)
			left := time.Second + time.Duration(writers)*(claimWindow+each*lookEach)
			s.soon("the first short reader", s.wants(reader, "n", read), left).release()
			for end := time.Now().Add(24 * time.Second); time.Now().Before(end); rounds[writers]++ {
				short := s.take(reader, "n", read)
				time.Sleep(10 * time.Millisecond)
				short.release()
			}
			long.release()
			for _, f := range frozen {
				f.Kill()
			}
		})
	}
	for _, writers := range []int{1, 5, 20} {
		if got, want := rounds[writers], rounds[0]*8/10; got < want {
			t.Errorf("beside the writers of %d frozen processes after their windows: %d reads in 24 s, want at least %d of %d", writers, got, want, rounds[0])
		}
	}
}

// The key of a lease is deleted, whose Client waits for the name with another owner, too.
// That one lives: it is told, and waits no longer than it takes to ask.
func TestMissedButAlive(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.three(15 * time.Second)
		first := s.dedicated(p0, "n", "first", 0)
		pushed := s.waitsDedicated(p1, "n", "a1")
		other := s.waitsDedicated(p2, "n", "b")
		second := s.waitsDedicated(p1, "n", "a2")
		first.release()
		got := s.soon("a1", pushed, lookAfter)
		s.Evict("n")
		b := s.soon("b", other, 15*time.Second)
		_ = got.Release() // it was evicted
		_, _, queue := sim.Keys("n")
		time.Sleep(lookAfter)
		if n := s.Do("ZCARD", queue); n != int64(1) {
			t.Errorf("%v wait, want a2 alone: it came back when it was told", n)
		}
		b.release()
		s.soon("a2", second, lookAfter).release()
	})
}

// The same of permits, whose holder's time in Redis was ended by hand.
func TestMissedPermitsButAlive(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p1, p2 := s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		got := s.take(p1, "n", permits(2, 2))
		other, second := s.wants(p2, "n", permits(1, 2)), s.wants(p1, "n", permits(2, 2))
		time.Sleep(time.Second)
		s.Evict("n")
		s.Do("ZADD", sim.KeyH("n"), "1", strings.Trim(fmt.Sprint(s.Do("ZRANGE", sim.KeyH("n"), "0", "0")), "[]"))
		b := s.soon("the other", other, time.Second)
		_ = got.Release()
		time.Sleep(lookAfter)
		_, _, queue := sim.Keys("n")
		if n := s.Do("ZCARD", queue); n != int64(1) {
			t.Errorf("%v wait, want one: it came back when it was told", n)
		}
		b.release()
		s.soon("the second", second, lookAfter).release()
	})
}

// A lease whose name cools down was claimed: nobody takes its Client for silent when the
// cool-down is over.
func TestCoolDownIsNoLapse(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.three(15 * time.Second)
		first := s.lock(p0, "n")
		h := s.Watch.Called(p1, "n")
		got := make(chan hold, 1)
		go func() {
			m := p1.Client.Mutex("n")
			m.MinHold = 3 * time.Second
			lease, err := m.Lock(s.t.Context())
			if err != nil {
				t.Error(err)
			}
			s.Watch.Granted(h, lease)
			got <- hold{lease, h, s}
		}()
		time.Sleep(20 * time.Millisecond)
		mine := s.waitsDedicated(p1, "n", "a2")
		other := s.waits(p2, "n")
		first.release()
		s.soon("who has a least time", got, lookAfter).release()
		_, fence, _ := sim.Keys("n")
		if f := fmt.Sprint(s.Do("GET", fence)); strings.Contains(f, " ") {
			t.Errorf("the fence key is %q after the release, want the token alone", f)
		}
		p1.Cut() // so that the other looks first
		h2 := s.soon("the same process", mine, 3*time.Second+lookAfter)
		h2.release()
		s.soon("the other", other, time.Second).release()
	})
}

// The key of a lease is deleted before it is given back. The Client that gives it back
// lives, and its next caller stands first: that one gets the name.
func TestMissedAsksItself(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.three(15 * time.Second)
		first := s.dedicated(p0, "n", "first", 0)
		pushed := s.waitsDedicated(p1, "n", "a1")
		second := s.waitsDedicated(p1, "n", "a2")
		other := s.waitsDedicated(p2, "n", "b")
		first.release()
		got := s.soon("a1", pushed, lookAfter)
		s.Evict("n")
		got.release()
		s.soon("a2", second, lookAfter).release()
		s.soon("b", other, lookAfter).release()
	})
}

// People see the newest token also where the fence says to whom the newest grant was pushed.
func TestFrozenIsInspected(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.three(15 * time.Second)
		first := s.lock(p0, "n")
		next, last := s.waits(p1, "n"), s.waits(p2, "n")
		first.release()
		got := s.soon("the next", next, lookAfter)
		state, err := admin.Of(p0.Client).Inspect(t.Context(), "n")
		if err != nil || state.Token < got.Token() || state.Holder.Owner != "p1" {
			t.Errorf("Inspect: got %+v, %v; want p1 and a token from %d up", state, err, got.Token())
		}
		got.release()
		s.soon("the last", last, lookAfter).release()
	})
}

// The holders key lives on for those that wait, to see which of them let a grant lapse; the lock key ends with the last that
// holds, however often that one renews.
func TestFrozenHolderIsNotProlonged(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		const ttl = 3 * time.Second
		p0, p1, p2 := s.three(ttl)
		first := s.take(p0, "n", write)
		pushed, next := s.wants(p1, "n", write), s.wants(p2, "n", write)
		first.release()
		s.soon("the second", pushed, lookAfter)
		lock, _, _ := sim.Keys("n")
		for range 5000 { // it renews
			time.Sleep(time.Millisecond)
			if left, _ := s.Do("PTTL", lock).(int64); left > ttl.Milliseconds() {
				t.Fatalf("the lock key lives for %d ms more, want %v at most", left, ttl)
			}
		}
		p1.Kill()
		s.soon("the next", next, ttl+claimWindow+lookAfter).release()
	})
}

// The waiter that hands over to one frozen process looks at the end of its claim window,
// however many frozen processes are left in front of it.
func TestManyFrozenInARow(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for kind, wait := range kinds {
		t.Run(kind, func(t *testing.T) {
			frozenInARow(t, wait, 12, 1, 0)
			switch kind {
			case "mutex":
				frozenInARow(t, wait, 20, 1, trusts-claimWindow)
			case "permits":
				frozenInARow(t, wait, 40, 2, 0)
			case "writer":
				frozenInARow(t, wait, 20, 1, 0)
			}
		})
	}
}

// frozenInARow lets that many wait behind the frozen. more is what they may wait longer, once.
func frozenInARow(t *testing.T, wait func(s stage, l *sim.Link, n int) <-chan hold, frozen, living int, more time.Duration) {
	const ttl = time.Minute
	for phase := range 2 {
		play(t, func(t *testing.T, s stage) {
			first := s.soon("the first", wait(s, s.process("p0", ttl), 0), time.Second)
			row := make([]*sim.Link, frozen)
			for i := range row {
				row[i] = s.process(fmt.Sprint("frozen", i), ttl)
				wait(s, row[i], i+1)
			}
			waits := make([]<-chan hold, living)
			for i := range waits {
				waits[i] = wait(s, s.process(fmt.Sprint("p", i+1), ttl), 50+i)
			}
			time.Sleep(20*time.Second + time.Duration(phase)*1400*time.Millisecond)
			for _, f := range row {
				go f.Pause(10 * time.Minute)
			}
			time.Sleep(time.Millisecond)
			first.release()
			began := time.Now()
			left := time.Duration(frozen)*(claimWindow+lookEach) + time.Second + more
			for i := range waits {
				since := time.Now()
				s.soon(fmt.Sprint("living ", i), waits[i], left).release()
				left += lookEach - time.Since(since)
			}
			t.Logf("behind %d frozen: %v", frozen, time.Since(began))
			for _, f := range row {
				f.Kill()
			}
		})
	}
}

// A waiter asked far behind, and all in front of it gave up but the head and two processes
// that are frozen then. It was told when it came near the front, and does not trust in the
// holder's ttl since.
func TestFrozenInARowComeNear(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		const ttl = time.Minute
		first := s.lock(s.process("p0", ttl), "n")
		f0, f1 := s.process("frozen0", ttl), s.process("frozen1", ttl)
		s.waits(f0, "n")
		s.waits(f1, "n")
		c := &waitingProcesses{stage: s}
		c.joinFor(30, 4*time.Second)
		next := s.waits(s.process("p1", ttl), "n")
		time.Sleep(4500 * time.Millisecond)
		go f0.Pause(10 * time.Minute)
		go f1.Pause(10 * time.Minute)
		time.Sleep(time.Millisecond)
		first.release()
		s.soon("the living", next, 2*(claimWindow+lookEach)+time.Second).release()
		f0.Kill()
		f1.Kill()
	})
}
