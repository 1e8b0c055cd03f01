package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// The waiter that hands over to one frozen process looks at the end of its claim window,
// however many frozen processes are left in front of it.
func TestManyFrozenInARow(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for _, kind := range []string{"mutex", "owner", "campaign"} {
		t.Run(kind, func(t *testing.T) { frozenInARow(t, kinds[kind], 12, 1) })
	}
}

func frozenInARow(t *testing.T, wait func(s stage, l *sim.Link, n int) <-chan hold, frozen, living int) {
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
			left := time.Duration(frozen)*(claimWindow+lookEach) + time.Second
			for i := range waits {
				since := time.Now()
				s.soon(fmt.Sprint("living ", i), waits[i], left).release()
				left += lookEach - time.Since(since)
			}
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
