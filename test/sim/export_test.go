package sim_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// A lease that several callers share is not exported under their feet.
func TestExportOfASharedLease(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		m := p0.Client.Mutex("n")
		m.Reentrant = true
		share, err := m.Lock(holder.Context(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := holder.Export(); err == nil || errors.Is(err, holdfast.ErrLost) || holder.Err() != nil {
			t.Errorf("Export of a shared lease: %v, Err %v; want an error, and the lease as it was", err, holder.Err())
		}
		if err := share.Release(); err != nil {
			t.Error(err)
		}
		s.adopt(p1, "n", holder.export()).release()
	})
}

// Export asks Redis: what is lost is not exported, and while Redis does not
// answer the lease stays.
func TestExportAsksRedis(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		holder := s.lock(p0, "n")
		go p0.Silence(4 * time.Second)
		time.Sleep(time.Millisecond)
		if _, err := holder.Export(); !errors.Is(err, holdfast.ErrUnreachable) || holder.Err() != nil {
			t.Errorf("Export while Redis is silent: %v, Err %v; want ErrUnreachable, and the lease as it was", err, holder.Err())
		}
		time.Sleep(5 * time.Second)
		s.Evict("n")
		if _, err := holder.Export(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Export of what is lost: %v; want ErrLost", err)
		}
		holder.stops()
		gone := s.lock(p0, "n")
		gone.release()
		if _, err := gone.Export(); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("Export after Release: %v; want ErrReleased", err)
		}
	})
}

// A renewal that reserves tokens is under way when the lease is exported, and slower than
// what Export asks: it waits for that, or nobody could adopt.
func TestExportBehindATokenBlock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: 15 * time.Second, Linger: time.Minute}, 1)
		p1 := s.process("p1", 15*time.Second)
		var slow atomic.Bool
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && len(step.Args) > 1 && step.Args[1] != "0" && slow.CompareAndSwap(false, true) {
				f.Out = 200 * time.Millisecond
			}
		})
		held := s.lock(p0, "n")
		for time.Sleep(time.Millisecond); !slow.Load(); time.Sleep(time.Millisecond) {
			held.release()
			held = s.lock(p0, "n")
		}
		text := held.export()
		time.Sleep(300 * time.Millisecond)
		s.adopt(p1, "n", text).release()
		s.nothingLeft("n")
	})
}

// A look of a waiter arrives when it has been given the name: the second grant of one id,
// which only renewals count beside with WaitReplicas. Export knows of it all the same.
func TestExportKnowsAllTokenBlocks(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.Replicate(1)
		options := holdfast.Options{TTL: 3 * time.Second, WaitReplicas: 1}
		p0, p1, p2 := s.Process("p0", options, 1), s.Process("p1", options, 1), s.Process("p2", options, 1)
		var waits atomic.Int32
		var exporting atomic.Bool
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && exporting.Load() {
				f.Back = 1300 * time.Millisecond
			}
			if step.Process == 1 && step.Waits() && waits.Add(1) == 2 {
				f.Out = time.Second
			}
		})
		first := s.lock(p0, "n")
		next := s.waits(p1, "n")
		for range 100 {
			if time.Sleep(100 * time.Millisecond); waits.Load() > 1 {
				break
			}
		}
		first.release()
		held := <-next
		exporting.Store(true)
		text := held.export()
		exporting.Store(false)
		if n := waits.Load(); n != 2 {
			t.Fatalf("it asked %d times: the test shows nothing", n)
		}
		s.adopt(p2, "n", text).release()
		s.nothingLeft("n")
	})
}

// A renewal that reserves tokens is overtaken by one that is answered: Export waits for
// it, too, or what it reserves would say that others had the name since.
func TestExportBehindAnOlderRenewal(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: 3 * time.Second, Linger: time.Minute}, 1)
		p1 := s.process("p1", 3*time.Second)
		var slow atomic.Bool
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && step.Process == 0 && len(step.Args) > 1 && step.Args[1] != "0" && !slow.Swap(true) {
				f.Out = 900 * time.Millisecond
			}
		})
		held := s.lock(p0, "n")
		for time.Sleep(time.Millisecond); !slow.Load(); time.Sleep(time.Millisecond) {
			held.release()
			held = s.lock(p0, "n")
		}
		time.Sleep(700 * time.Millisecond) // the next is due a sixth of the life later
		text := held.export()
		time.Sleep(300 * time.Millisecond)
		s.adopt(p1, "n", text).release()
	})
}

// EnsureHeld's reserves tokens, too, and is waited for though who asked has left.
func TestExportBehindEnsureHeld(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: 15 * time.Second, Linger: time.Minute}, 1)
		p1 := s.process("p1", 15*time.Second)
		var slow atomic.Bool
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && len(step.Args) > 1 && step.Args[1] != "0" && !slow.Swap(true) {
				f.Out = 200 * time.Millisecond
			}
		})
		held := s.lock(p0, "n")
		ensure := func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			_ = held.EnsureHeld(ctx)
		}
		for ensure(); !slow.Load(); ensure() {
			held.release()
			held = s.lock(p0, "n")
		}
		text := held.export()
		time.Sleep(300 * time.Millisecond)
		s.adopt(p1, "n", text).release()
	})
}

// A renewal that reserves tokens runs behind a later one, and nobody hears of it. Export's
// own tells of what it has reserved.
func TestExportBehindAnUnansweredTokenBlock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.Process("p0", holdfast.Options{TTL: 15 * time.Second, Linger: time.Minute}, 1)
		p1 := s.process("p1", 15*time.Second)
		var slow atomic.Bool
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "renew" && len(step.Args) > 1 && step.Args[1] != "0" && !slow.Swap(true) {
				f.Out, f.LoseBack = 200*time.Millisecond, true
			}
		})
		held := s.lock(p0, "n")
		ensure := func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			_ = held.EnsureHeld(ctx)
		}
		for ensure(); !slow.Load(); ensure() {
			held.release()
			held = s.lock(p0, "n")
		}
		ensure() // overtakes it
		time.Sleep(4 * time.Second)
		s.adopt(p1, "n", held.export()).release()
	})
}
