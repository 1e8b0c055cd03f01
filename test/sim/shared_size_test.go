package sim_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// More permits than there are, and none, are refused at once. The stored size says how
// many there are, whatever size was stated.
func TestSharedTooMany(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		many := func(n, stated int, want string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			_, err := p0.Client.Semaphore("n", stated).Acquire(ctx, n)
			if !errors.Is(err, holdfast.ErrSize) || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("Acquire of %d of %d: got %v, want ErrSize, %s", n, stated, err, want)
			}
			if took := time.Since(began); took > 50*time.Millisecond {
				t.Errorf("it took %v", took)
			}
		}
		many(5, 4, "asked for 5 of n, which has 4")
		many(0, 4, "asked for 0 of n, which has 4")
		many(-1, 4, "asked for -1 of n, which has 4")
		many(holdfast.MaxSize+1, holdfast.MaxSize, "which has 1073741824")
		s.none("n")
		if err := p0.Client.Semaphore("n", 4).Resize(t.Context(), 6); err != nil {
			t.Fatal(err)
		}
		lease, err := p0.Client.Semaphore("n", 4).Acquire(t.Context(), 5)
		if err != nil {
			t.Fatalf("Acquire of 5 of 6, 4 stated: %v", err)
		}
		many(7, 8, "asked for 7 of n, which has 6")
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		many(7, 8, "asked for 7 of n, which has 6")
	})
}

// The size of a name outlives its holders, and programs that state another one are
// served by it and told once.
func TestSharedSizeIsKept(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		told := make(chan holdfast.SizeMismatch, 100)
		p0 := s.process("p0", 15*time.Second)
		p1 := s.Process("p1", holdfast.Options{TTL: 15 * time.Second, Logger: slog.New(slog.DiscardHandler), OnEvent: func(e holdfast.Event) {
			if e, ok := e.(holdfast.SizeMismatch); ok {
				told <- e
			}
		}}, 1)
		s.take(p0, "n", permits(1, 2)).release() // the first use sets it
		size := sim.KeySize("n")
		if got := s.Do("GET", size); got != "02" { // 0: by its first use
			t.Fatalf("the stored size: got %v, want 02", got)
		}
		s.Watch.CalledFor(p0, "n", permits(1, 2))
		first := s.take(p1, "n", permits(1, 2))
		second := s.take(p0, "n", permits(1, 2))
		_, err := p1.Client.Semaphore("n", 8).TryAcquire(t.Context(), 1)
		if !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("a third of 2, 8 stated: got %v, want ErrHeld", err)
		}
		next := make(chan *holdfast.Lease, 1)
		go func() {
			lease, err := p1.Client.Semaphore("n", 8).Acquire(t.Context(), 1)
			if err != nil {
				t.Error(err)
			}
			next <- lease
		}()
		time.Sleep(100 * time.Millisecond)
		first.release()
		if err := (<-next).Release(); err != nil {
			t.Error(err)
		}
		second.release()
		time.Sleep(time.Second)
		s.none("n")
		for range 3 {
			lease, err := p1.Client.Semaphore("n", 8).TryAcquire(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
		if _, err := p1.Client.Semaphore("n", 8).TryAcquire(t.Context(), 3); !errors.Is(err, holdfast.ErrSize) {
			t.Errorf("3 of 2, 8 stated: got %v, want ErrSize", err)
		}
		time.Sleep(time.Second)
		if want := (holdfast.SizeMismatch{Name: "n", Asked: 8, Actual: 2}); len(told) != 1 || <-told != want {
			t.Errorf("told %d times, want once: %v", len(told), want)
		}
		if got := s.Do("PTTL", size).(int64); got < 24*3600*1000 || got > 25*3600*1000+1000 {
			t.Errorf("the stored size lives for %d ms, want as long as the token, 25 h", got)
		}
	})
}

// A size that was lost, or makes no sense, is stored again: what holders have counts, else
// what is stated.
func TestSharedSizeIsLost(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		size := sim.KeySize("n")
		first := s.take(p0, "n", permits(1, 2))
		s.Do("DEL", size)
		if _, err := p0.Client.Semaphore("n", 9).TryAcquire(t.Context(), 2); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("2 of 2 beside a holder, 9 stated: got %v, want ErrHeld", err)
		}
		second := s.take(p0, "n", permits(1, 2))
		if got := s.Do("GET", size); got != "02" {
			t.Errorf("the stored size: got %v, want that of the holders, 02", got)
		}
		first.release()
		second.release()
		for _, bad := range []string{"0", "x", "1e300", "-3"} {
			s.Do("SET", size, bad)
			lease, err := p0.Client.Semaphore("n", 2).TryAcquire(t.Context(), 2)
			if err != nil {
				t.Fatalf("beside a stored size of %s: %v", bad, err)
			}
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A rolling deploy from one size to another: no call fails for the size, before Resize
// or after it, and never are more permits held than there are.
func TestSharedRollingResize(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	play(t, func(t *testing.T, s stage) {
		var inside, most atomic.Int64
		var wg sync.WaitGroup
		until := time.Now().Add(10 * time.Second)
		old, young := s.process("old", 15*time.Second), s.process("young", 15*time.Second)
		limit := atomic.Int64{}
		limit.Store(4)
		for i, p := range []*sim.Link{old, young, old, young, old, young, old, young, old, young, old, young} {
			stated := []int{4, 8}[i%2]
			if i == 0 {
				s.take(p, "n", permits(1, 4)).release()
			}
			wg.Go(func() {
				for time.Now().Before(until) {
					lease, err := p.Client.Semaphore("n", stated).Acquire(t.Context(), 1)
					if err != nil {
						t.Errorf("stating %d: %v", stated, err)
						return
					}
					now := inside.Add(1)
					if now > limit.Load() {
						t.Errorf("%d hold, of %d", now, limit.Load())
					}
					most.Store(max(most.Load(), now))
					time.Sleep(20 * time.Millisecond)
					inside.Add(-1)
					if err := lease.Release(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		time.Sleep(5 * time.Second)
		if got := most.Load(); got != 4 {
			t.Errorf("before Resize %d held at once, want 4", got)
		}
		limit.Store(8)
		if err := young.Client.Semaphore("n", 8).Resize(t.Context(), 8); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if got := most.Load(); got != 8 {
			t.Errorf("after Resize %d held at once, want 8", got)
		}
	})
}

// The size is changed for all who hold, wait and come. A waiter for whom it became too
// small is told.
func TestSharedResize(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		sem := p0.Client.Semaphore("n", 2)
		first := s.take(p0, "n", permits(2, 2))
		next := s.wants(p1, "n", permits(1, 2))
		s.Watch.CalledFor(p0, "n", permits(1, 3)) // from now on 3 may be held
		if err := sem.Resize(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		second := s.soon("the waiter, when there is more", next, 50*time.Millisecond)
		if got := sem.Size(); got != 3 {
			t.Errorf("Size: got %d, want 3", got)
		}
		if _, err := p2.Client.Semaphore("n", 2).TryAcquire(t.Context(), 1); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("by the old size: got %v, want ErrHeld", err)
		}

		refused := make(chan error, 1)
		go func() {
			_, err := p2.Client.Semaphore("n", 3).Acquire(t.Context(), 3)
			refused <- err
		}()
		time.Sleep(50 * time.Millisecond)
		small := s.wants(p1, "n", permits(1, 3))
		if err := sem.Resize(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refused:
			if want := "holdfast: bad number of permits: asked for 3 of n, which has 1"; !errors.Is(err, holdfast.ErrSize) || err.Error() != want {
				t.Errorf("too many now: got %v, want %s", err, want)
			}
		case <-time.After(100 * time.Millisecond):
			t.Error("a waiter for which the size is too small was not told")
		}
		first.release()
		s.notBefore("one more than there are now", small, time.Second)
		second.release()
		s.soon("the last", small, 50*time.Millisecond).release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

func kind(t *testing.T, want string, f func() error) {
	t.Helper()
	if err := f(); !errors.Is(err, holdfast.ErrKind) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Resize of a name that nobody holds, or of another kind.
func TestSharedResizeOfNothing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		s.take(p0, "n", permits(1, 2)).release()
		if err := p0.Client.Semaphore("n", 2).Resize(t.Context(), 5); err != nil {
			t.Errorf("Resize where nobody holds: %v", err)
		}
		s.none("n")
		all, err := p0.Client.Semaphore("n", 2).TryAcquire(t.Context(), 5)
		if err != nil {
			t.Fatalf("5 of 5, 2 stated: %v", err)
		}
		if err := all.Release(); err != nil {
			t.Error(err)
		}
		h := s.take(p0, "n", read)
		kind(t, "holdfast: n is an RWMutex, not a semaphore of 5", func() error {
			return p0.Client.Semaphore("n", 2).Resize(t.Context(), 5)
		})
		h.release()
	})
}

// A foreign client is excluded, and excludes: a waiter polls.
func TestSharedForeignHolder(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		lock, _, _ := sim.Keys("n")
		first := s.take(p0, "n", read)
		if got := s.Do("SET", lock, "foreign", "NX", "PX", "9000"); got != nil {
			t.Errorf("SET NX of a held name: got %v, want nil", got)
		}
		first.release()
		s.Do("SET", lock, "foreign", "NX", "PX", "60000")
		_, err := p0.Client.RWMutex("n").TryRLock(t.Context())
		if held, ok := errors.AsType[*holdfast.HeldError](err); !ok || !held.Foreign || held.Remaining <= 0 {
			t.Errorf("TryRLock: got %v, want a foreign holder", err)
		}
		next := s.wants(p1, "n", write)
		s.notBefore("the writer", next, 3*time.Second)
		s.Do("DEL", lock)
		s.soon("the writer", next, 700*time.Millisecond).release()
	})
}

// A foreign client that takes the lock key while somebody holds, which it can only if the lock key was
// deleted, has it: the holder's next renewal says so.
func TestSharedTakenByAForeigner(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Second)
		lock, _, _ := sim.Keys("n")
		h := s.take(p0, "n", read)
		s.Watch.Leaves(h.held)
		s.Do("DEL", lock)
		s.Do("SET", lock, "foreign", "NX", "PX", "60000")
		time.Sleep(500 * time.Millisecond)
		lost, ok := errors.AsType[*holdfast.LostError](h.Err())
		if !ok || lost.Cause != holdfast.Taken {
			t.Errorf("got %v, want lost: taken", h.Err())
		}
	})
}

// The lock key alone that is deleted costs nobody anything: the holders key says who holds.
func TestSharedLockKeyAloneIsDeleted(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		lock, _, _ := sim.Keys("n")
		h := s.take(p0, "n", permits(1, 1))
		s.Do("DEL", lock)
		next := s.wants(p1, "n", permits(1, 1))
		s.notBefore("the next", next, 3*time.Second)
		h.release()
		s.soon("the next", next, 100*time.Millisecond).release()
		s.none("n")
	})
}

// Waiters of another kind, which wait in a queue whose holder is gone, are an
// error that names both while they live, and no matter when they are dead.
func TestSharedWaitersOfAnotherKind(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		lock, _, queue := sim.Keys("n")
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.lock(p0, "n")
		go func() { _, _ = p1.Client.Mutex("n").Lock(t.Context()) }()
		time.Sleep(50 * time.Millisecond)
		p0.Kill()
		s.Do("DEL", lock)
		kind(t, "holdfast: n is a mutex, not an RWMutex", func() error {
			_, err := p2.Client.RWMutex("n").RLock(t.Context())
			return err
		})
		p1.Kill()
		s.take(p2, "n", read).release()
		if n := s.Do("ZCARD", queue); n != int64(0) {
			t.Errorf("%v waiters are left", n)
		}
	})
}

// Five hundred dead waiters and more are passed over in a few calls.
func TestSharedManyDead(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		_, _, queue := sim.Keys("n")
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		h := s.take(p0, "n", write)
		next := s.wants(p1, "n", read)
		for i := range 1300 { // in front of it
			s.Do("ZADD", queue, fmt.Sprint(1000+i), fmt.Sprintf("dead%d.n.15000.r1|x", i))
		}
		h.release()
		s.soon("the living one", next, 100*time.Millisecond).release()
		s.none("n")
	})
}

// With WaitReplicas a part is given when the replicas have it.
func TestSharedGrantIsConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(2)
		p0 := s.copied("p0", 15*time.Second)
		s.Freeze(1)
		_, err := p0.Client.RWMutex("n").RLock(t.Context())
		s.tooFew(err, holdfast.ReplicasError{Name: "n", Want: 2, Got: 1, Connected: 2})
		s.Thaw(1)
		h := s.take(p0, "n", read)
		if got := h.Replicas(); got != 2 {
			t.Errorf("Replicas: got %d, want 2", got)
		}
		h.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// Under a lease of the name its context locks nothing of it, and never makes a
// reader a writer.
func TestSharedDeadlock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		h := s.take(p0, "n", read)
		ctx := h.Context(t.Context())
		reentrant := p0.Client.Mutex("n")
		reentrant.Reentrant = true
		for what, f := range map[string]func() error{
			"Lock":    func() error { _, err := p0.Client.RWMutex("n").Lock(ctx); return err },
			"RLock":   func() error { _, err := p0.Client.RWMutex("n").RLock(ctx); return err },
			"Acquire": func() error { _, err := p0.Client.Semaphore("n", 2).Acquire(ctx, 1); return err },
			"Mutex":   func() error { _, err := reentrant.Lock(ctx); return err },
		} {
			if err := f(); !errors.Is(err, holdfast.ErrDeadlock) {
				t.Errorf("%s: got %v, want ErrDeadlock", what, err)
			}
		}
		ctx = context.WithoutCancel(ctx)
		h.release()
		if _, err := reentrant.Lock(ctx); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("after the release: got %v, want ErrReleased, as of a Mutex", err)
		}
	})
}

// Inspect shows the size of a semaphore that nobody holds as long as it is stored. Who may not read it
// sees the rest.
func TestSizeOfAFreeSemaphore(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		shows := func(what string, want int) {
			t.Helper()
			state, err := admin.Of(p0.Client).Inspect(t.Context(), "n")
			if err != nil || state.Size != want || state.Unreadable != nil {
				t.Errorf("Inspect, %s: %+v, %v; want size %d, and nothing unseen", what, state, err, want)
			}
		}
		s.take(p0, "n", permits(1, 2)).release()
		shows("free", 2)
		survey, err := admin.Of(p0.Client).Survey(t.Context(), "", 0)
		if err != nil || len(survey.Names) != 1 || survey.Names[0].Size != 2 {
			t.Errorf("Survey: %+v, %v; want size 2", survey, err)
		}
		refused := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "inspect" && refused == 0 {
				refused, f.Refuse = 1, "NOPERM No permissions to access a key"
			}
		})
		shows("without the right", 0)
		s.on(func(sim.Step, *sim.Fate) {})
		mutex, err := p0.Client.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shows("held as a mutex", 0)
		if err := mutex.Release(); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"none", "0", "-1", "1073741825"} {
			s.Do("SET", sim.KeySize("n"), bad)
			shows("damaged: "+bad, 0)
		}
		s.Do("DEL", sim.KeySize("n"))
		s.Do("RPUSH", sim.KeySize("n"), "2")
		shows("another type", 0)
		s.Do("DEL", sim.KeySize("n"))
		shows("forgotten", 0)
	})
}
