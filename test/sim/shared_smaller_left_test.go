package sim_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// leftover takes 5 of 10 and keeps 2; the lock runs once more behind that, so that the 5 stand in
// the holders key, too. The next renewal is seconds away.
func leftover(t *testing.T, s stage, p *sim.Link) hold {
	t.Helper()
	s.onFirstLock(func(f *sim.Fate) { f.Again = 300 * time.Millisecond })
	holder := s.take(p, "n", permits(5, 10))
	holder.mustBecome(permits(2, 10))
	time.Sleep(500 * time.Millisecond)
	if n := s.inHolders("n"); n != 2 {
		t.Fatalf("%d in the holders key, want 2: the part and the leftover", n)
	}
	return holder
}

func (s stage) onFirstLock(do func(f *sim.Fate)) {
	locks := 0
	s.on(func(step sim.Step, f *sim.Fate) {
		if step.Process == 0 && step.Kind == "shared_lock" {
			if locks++; locks == 1 {
				do(f)
			}
		}
	})
}

// allFree wants that another Client has all permits at once, and that nothing stays.
func (s stage) allFree(p *sim.Link) {
	time.Sleep(time.Second)
	s.soon("all that there is", s.wants(p, "n", permits(10, 10)), 100*time.Millisecond).release()
	s.none("n")
}

// A late lock of a former id leaves nothing behind a Release or a Close.
func TestKeepLeftoverGivenBack(t *testing.T) {
	ways := map[string]func(l *sim.Link, h hold){
		"Release": func(_ *sim.Link, h hold) { h.release() },
		"Close":   func(l *sim.Link, _ hold) { _ = l.Client.Close() },
	}
	for how, giveBack := range ways {
		t.Run(how, func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
				giveBack(p0, leftover(t, s, p0))
				s.allFree(p1)
			})
		})
		t.Run(how+" of a lock that was not answered", func(t *testing.T) {
			play(t, func(t *testing.T, s stage) {
				p0, p1 := s.process("p0", time.Minute), s.process("p1", 15*time.Second)
				s.onFirstLock(func(f *sim.Fate) { f.Out = 6 * time.Second })
				holder := s.take(p0, "n", permits(5, 10))
				holder.mustBecome(permits(2, 10))
				time.Sleep(6 * time.Second)
				giveBack(p0, holder)
				time.Sleep(2 * time.Second)
				s.allFree(p1)
			})
		})
	}
}
