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
