package sim_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// Rule 3 where no answer ever comes: TCP brings a lock long after its connection was
// closed, and after its cancel was answered. The cancel goes out again for two minutes,
// and when the client is closed.
func TestLockArrivesBehindItsCancel(t *testing.T) {
	for _, closes := range []bool{false, true} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
			s.subscribe(p0)
			holder := s.lock(p1, "n")
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Process == 0 && step.Waits() {
					f.Out = 20 * time.Second
				}
			})
			s.giveUp(p0, "n", 5*time.Second)
			time.Sleep(10 * time.Second)
			if _, waiters := s.left("n"); waiters != 0 {
				t.Fatalf("%d wait in the queue, want nobody yet", waiters)
			}
			time.Sleep(13 * time.Second)
			if closes {
				if err := p0.Client.Close(); err != nil {
					t.Error(err)
				}
			} else {
				time.Sleep(15 * time.Second)
			}
			if _, waiters := s.left("n"); waiters != 0 {
				t.Errorf("closed %v: %d wait in the queue, want nobody", closes, waiters)
			}
			holder.release()
			time.Sleep(5 * time.Minute)
			s.nothingLeft("n")
			s.on(func(step sim.Step, _ *sim.Fate) { t.Errorf("after five minutes it still sends %s", step.Kind) })
			time.Sleep(5 * time.Minute)
		})
	}
}

// The same behind an unlock: the first lock is not answered, the second is, the lease is
// used and given back, and then the first comes.
func TestLockArrivesBehindItsUnlock(t *testing.T) {
	for _, cools := range []bool{false, true} {
		play(t, func(t *testing.T, s stage) {
			p0 := s.process("p0", time.Minute)
			locks := 0
			s.on(func(step sim.Step, f *sim.Fate) {
				if step.Kind == "lock" {
					if locks++; locks == 1 {
						f.Out = 10 * time.Second
					}
				}
			})
			m := p0.Client.Mutex("n")
			if cools {
				m.MinHold = 3 * time.Second
			}
			lease, err := m.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			s.nothingLeft("n")
			time.Sleep(15 * time.Second)
			s.nothingLeft("n")
			time.Sleep(5 * time.Minute)
			s.on(func(step sim.Step, _ *sim.Fate) { t.Errorf("after five minutes it still sends %s", step.Kind) })
			time.Sleep(5 * time.Minute)
		})
	}
}

// What was answered goes out once more at Close, but nobody is owed it: neither many nor
// a server that is silent make Close slow, or fail.
func TestCloseOwesNoEcho(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for name, what := range map[string]struct {
		many   int
		silent bool
	}{"many": {3000, false}, "silent": {1, true}} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0 := s.process("p0", 15*time.Second)
				var silent atomic.Bool
				var sent atomic.Int64
				silent.Store(true)
				s.on(func(step sim.Step, f *sim.Fate) {
					f.Out, f.Back = 10*time.Millisecond, 10*time.Millisecond
					f.LoseOut = silent.Load() && step.Kind != "subscribe"
					sent.Add(1)
				})
				done := make(chan struct{})
				for i := range what.many {
					go func() {
						ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
						defer cancel()
						_, _ = p0.Client.Mutex("n" + itoa(int64(i))).Lock(ctx)
						done <- struct{}{}
					}()
				}
				for range what.many {
					<-done
				}
				silent.Store(false)
				time.Sleep(time.Minute)
				silent.Store(what.silent)
				sent.Store(0)
				began := time.Now()
				if err, took := p0.Client.Close(), time.Since(began); err != nil || took > 300*time.Millisecond {
					t.Errorf("Close = %v after %v; want nil, soon", err, took)
				}
				if sent.Load() == 0 {
					t.Error("nothing went out once more")
				}
			})
		})
	}
}
