package sim_test

import (
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
