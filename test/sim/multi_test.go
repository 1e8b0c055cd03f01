package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// several is a MultiLease in a test.
type several struct {
	*holdfast.MultiLease
	s stage
}

// multi locks names, and waits at most for a while.
func (s stage) multi(l *sim.Link, limit time.Duration, names ...string) (*several, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	lease, err := l.Client.Multi(names...).Lock(ctx)
	if err != nil {
		return nil, err
	}
	return &several{MultiLease: lease, s: s}, nil
}

func (m *several) release() {
	m.s.t.Helper()
	if err := m.Release(); err != nil {
		m.s.t.Errorf("Release: %v", err)
	}
}

// gone waits until nothing of the names is left in Redis.
func (s stage) gone(limit time.Duration, names ...string) {
	s.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left := false
		for _, name := range names {
			lock, waiters := s.left(name)
			left = left || lock || waiters > 0
		}
		if !left {
			return
		}
	}
	for _, name := range names {
		s.nothingLeft(name)
	}
}

func (s stage) locked(name string) bool {
	lock, _ := s.left(name)
	return lock
}

// Callers in several processes lock overlapping sets of names, given in any
// order. None waits for ever, and no name is held twice at a time.
func TestMultiOppositeOrders(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(sim.Step, *sim.Fate) {})
		names := []string{"a", "b", "c", "d"}
		var mu sync.Mutex
		inside, done := map[string]int{}, 0
		count := func(by int, of []string) {
			mu.Lock()
			defer mu.Unlock()
			for _, name := range of {
				if inside[name] += by; inside[name] > 1 {
					t.Errorf("%s is held twice", name)
				}
			}
		}
		var running sync.WaitGroup
		for p := range 3 {
			l := s.process(fmt.Sprint("p", p), 15*time.Second)
			for caller := range 6 {
				random := rand.New(rand.NewPCG(uint64(p), uint64(caller)))
				running.Go(func() {
					for range 8 {
						mine := slices.Clone(names)
						random.Shuffle(len(mine), func(i, k int) { mine[i], mine[k] = mine[k], mine[i] })
						mine = mine[:1+random.IntN(len(mine))]
						m, err := s.multi(l, 2*time.Minute, mine...)
						if err != nil {
							t.Errorf("%q: %v", mine, err)
							return
						}
						count(1, mine)
						time.Sleep(time.Duration(random.IntN(5)) * time.Millisecond)
						count(-1, mine)
						m.release()
						mu.Lock()
						done++
						mu.Unlock()
					}
				})
			}
		}
		running.Wait()
		if want := 3 * 6 * 8; done != want {
			t.Errorf("%d of %d callers got what they wanted", done, want)
		}
		time.Sleep(time.Second)
		s.gone(time.Second, names...)
	})
}

// One of three names is lost. The lease of all is lost with it, its context
// says which, and the others are kept until Release.
func TestMultiLosesOne(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 3*time.Second)
		m, err := s.multi(p0, time.Minute, "c", "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		ctx := m.Context(t.Context())
		s.Evict("b")
		select {
		case <-m.Done():
		case <-time.After(1200 * time.Millisecond): // the next renewal
			t.Fatal("the loss of b is not known")
		}
		<-ctx.Done()
		var lost *holdfast.LostError
		if err := context.Cause(ctx); !errors.As(err, &lost) || lost.Name != "b" {
			t.Errorf("the context ended with %v; want the loss of b", err)
		}
		if !errors.As(m.Err(), &lost) || lost.Name != "b" || m.Remaining() != 0 {
			t.Errorf("Err = %v, Remaining = %v; want the loss of b", m.Err(), m.Remaining())
		}
		time.Sleep(10 * time.Second)
		if !s.locked("a") || !s.locked("c") {
			t.Error("a and c are not kept")
		}
		first := m.Release()
		if !errors.As(first, &lost) || lost.Name != "b" || strings.Count(first.Error(), "lost") != 1 {
			t.Errorf("Release = %v; want the loss of b and nothing else", first)
		}
		if second := m.Release(); second != first { //nolint:errorlint // the very same
			t.Errorf("a second Release = %v; want what the first said", second)
		}
		s.gone(time.Millisecond, "a", "b", "c")
	})
}

// A caller gives up while it waits for the second name, and holds neither then,
// nor waits in the queue for it.
func TestMultiGivesUpHalfWay(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(sim.Step, *sim.Fate) {})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "b")
		if _, err := s.multi(p1, 20*time.Second, "a", "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock = %v; want the context's error", err)
		}
		s.gone(10*time.Millisecond, "a")
		if _, waiters := s.left("b"); waiters > 0 {
			t.Errorf("%d waiters of b are left", waiters)
		}
		holder.release()
	})
}

// A call that gives up half way returns within 20 ms, however slow Redis is: it waits
// for the end of its wait and for the release of what it has together.
func TestMultiGivesUpInTime(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "b")
		ctx, cancel := context.WithCancel(t.Context())
		home := make(chan error, 1)
		go func() {
			_, err := p1.Client.Multi("a", "b").Lock(ctx)
			home <- err
		}()
		s.lookFor("b", time.Second)
		s.SetNetwork(func(sim.Step) sim.Fate { return sim.Fate{Out: 200 * time.Millisecond, Back: 200 * time.Millisecond} })
		cancel()
		began := time.Now()
		if err := <-home; !errors.Is(err, context.Canceled) || time.Since(began) > longestRemoval {
			t.Errorf("Lock = %v, %v after the end of its context; want that within %v", err, time.Since(began), longestRemoval)
		}
		holder.release()
		s.gone(2*time.Second, "a", "b")
	})
}

// A name is lost while the next one is waited for. Lock does not return half a
// lease: it begins again, and gets both.
func TestMultiBeginsAgain(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		holder := s.lock(p0, "b")
		got := make(chan *several, 1)
		go func() {
			m, err := s.multi(p1, 2*time.Minute, "a", "b")
			if err != nil {
				t.Error(err)
			}
			got <- m
		}()
		time.Sleep(time.Second)
		s.Evict("a")
		other := s.lock(p0, "a")
		time.Sleep(5 * time.Second)
		holder.release()
		select {
		case <-got:
			t.Fatal("Lock returned while another holds a")
		case <-time.After(5 * time.Second):
		}
		other.release()
		m := <-got
		if m == nil || m.Err() != nil {
			t.Fatalf("got %+v; want a lease of both", m)
		}
		if m.Token("a") <= other.Token() || m.Token("b") <= holder.Token() {
			t.Error("tokens did not rise")
		}
		m.release()
		s.gone(time.Second, "a", "b")
	})
}

// late is a context whose deadline passes without waking anybody.
type late struct {
	context.Context
	passed atomic.Bool
}

func (l *late) Err() error {
	if l.passed.Load() {
		return context.DeadlineExceeded
	}
	return l.Context.Err()
}

// A name is lost while the next one is waited for, in the moment in which the
// caller's deadline passes: Lock answers with the caller's own error.
func TestMultiLosesAtTheDeadline(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		holder := s.lock(p0, "b")
		ctx := &late{Context: t.Context()}
		got := make(chan error, 1)
		go func() {
			_, err := p1.Client.Multi("a", "b").Lock(ctx)
			got <- err
		}()
		time.Sleep(time.Second)
		ctx.passed.Store(true)
		s.Evict("a")
		if err := <-got; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("Lock = %v; want the caller's own %v", err, context.DeadlineExceeded)
		}
		holder.release()
	})
}

// A try that has to go one by one and finds a name held says which, and holds none
// when it returns.
func TestMultiTryIsAllOrNothing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Shard() // the names are in several slots
		s.on(func(sim.Step, *sim.Fate) {})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "c")
		_, err := p1.Client.Multi("a", "b", "c").TryLock(t.Context())
		var held *holdfast.HeldError
		if !errors.As(err, &held) || held.Name != "c" || held.Owner != "p0" {
			t.Errorf("TryLock = %v; want that p0 holds c", err)
		}
		if s.locked("a") || s.locked("b") {
			t.Error("a or b is still held when TryLock returns")
		}
		holder.release()
		lease, err := p1.Client.Multi("a", "b", "c").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}

// What is wrong is told before anything is locked: no names, a bad one, and a
// context that holds one of them, by a Mutex or by a Multi.
func TestMultiRefuses(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		for _, names := range [][]string{nil, {""}, {"a", "b}"}} {
			if _, err := p0.Client.Multi(names...).Lock(t.Context()); !errors.Is(err, holdfast.ErrName) {
				t.Errorf("%q: Lock = %v; want ErrName", names, err)
			}
		}
		held := s.lock(p0, "b")
		s.on(func(step sim.Step, _ *sim.Fate) {
			if step.Kind == "lock" {
				t.Error("a lock is asked for")
			}
		})
		if _, err := p0.Client.Multi("a", "b").Lock(held.Context(t.Context())); !errors.Is(err, holdfast.ErrDeadlock) {
			t.Errorf("Lock under a lease of b = %v; want ErrDeadlock", err)
		}
		s.on(func(sim.Step, *sim.Fate) {})
		held.release()
		m, err := s.multi(p0, time.Minute, "c", "b", "c")
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Names(); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("Names = %q; want each once, in order", got)
		}
		under := m.Context(t.Context())
		if _, err := p0.Client.Multi("a", "c").TryLock(under); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("TryLock under a lease of c = %v; want ErrHeld", err)
		}
		if _, err := p0.Client.Mutex("b").Lock(under); !errors.Is(err, holdfast.ErrDeadlock) {
			t.Errorf("Lock of b under a lease of it = %v; want ErrDeadlock", err)
		}
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "holdfast: ") {
					t.Errorf("Token of another name: got %q, want a panic that says so", got)
				}
			}()
			m.Token("a")
		}()
		m.release()
		if err := m.Err(); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("Err after Release = %v", err)
		}
		s.gone(time.Millisecond, "a", "b", "c")
	})
}

// Several names by one script again, on a network that loses, doubles and delays,
// and in processes that stop.

// The answer is lost, or the request is: the same ids are asked for once more, by
// one script again, and granted once. Nothing is left.
func TestMultiAnswerLost(t *testing.T) {
	for name, lost := range map[string]sim.Fate{
		"answer": {LoseBack: true}, "answer, reset": {LoseBack: true, Reset: true}, "request": {LoseOut: true}, "request, reset": {LoseOut: true, Reset: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				var asked [][]string
				steps := s.steps(0, func(step sim.Step, f *sim.Fate) {
					if step.Kind == "multi_lock" {
						asked = append(asked, step.Args)
						if step.N == 0 {
							*f = lost
						}
					}
				})
				m, err := p0.Client.Multi("a", "b").TryLock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s.Atomically(func() { // what is held is renewed once after an error
					*steps = slices.DeleteFunc(*steps, func(kind string) bool { return kind == "renew" })
				})
				s.tookLocks(steps, "multi_lock", "multi_lock")
				if !slices.Equal(asked[0], asked[1]) {
					t.Errorf("asked for %q, then for %q; want the same", asked[0], asked[1])
				}
				if err := m.Release(); err != nil {
					t.Error(err)
				}
				s.gone(time.Millisecond, "a", "b")
			})
		})
	}
}

// A Client is closed while the request is under way: nothing stays locked.
func TestMultiCloseInFlight(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "multi_lock" {
				f.Out = 300 * time.Millisecond
			}
		})
		refused := make(chan error, 1)
		go func() {
			_, err := p0.Client.Multi("a", "b").Lock(context.Background())
			refused <- err
		}()
		time.Sleep(100 * time.Millisecond)
		if err := p0.Client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-refused; !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("Lock: got %v, want ErrClosed", err)
		}
		s.gone(time.Millisecond, "a", "b")
	})
}

// A late duplicate of the request does not cut the least life that a caller of
// one of the names has got since.
func TestMultiLateDuplicateAndMinHold(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		s.subscribe(p0) // else the next turn would be in another tenure
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 0 && step.Kind == "multi_lock" {
				f.Out, f.Again = 200*time.Millisecond, 10*time.Second
			}
		})
		several := s.begins(p0, "a", "b")
		time.Sleep(50 * time.Millisecond)
		kept := make(chan hold, 1)
		go func() { kept <- s.keeps(p0, "a", time.Minute) }()
		(<-several).release()
		first := <-kept
		time.Sleep(11 * time.Second)
		p0.Kill()
		s.afterCooldown(s.waits(p1, "a"), first.held.Got, time.Minute).release()
	})
}
