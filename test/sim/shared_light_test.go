package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// The light and the heavy in the holders key; see docs/shared.md.

// fits reports whether somebody who tries gets n permits, which it gives back.
func (s stage) fits(l *sim.Link, name string, n, size int) bool {
	s.t.Helper()
	lease, err := l.Client.Semaphore(name, size).TryAcquire(s.t.Context(), n)
	if errors.Is(err, holdfast.ErrHeld) {
		return false
	}
	if err == nil {
		err = lease.Release()
	}
	if err != nil {
		s.t.Fatalf("%d of %d: %v", n, size, err)
	}
	return true
}

// entries are the ids in the holders key and their scores.
func (s stage) entries(name string) map[string]float64 {
	s.t.Helper()
	found := map[string]float64{}
	list, _ := s.Do("ZRANGE", sim.KeyH(name), "0", "-1", "WITHSCORES").([]any)
	for i := 0; i+1 < len(list); i += 2 {
		score, err := strconv.ParseFloat(fmt.Sprint(list[i+1]), 64)
		if err != nil {
			s.t.Fatal(err)
		}
		found[fmt.Sprint(list[i])] = score
	}
	return found
}

// enter writes an entry of the holders key.
func (s stage) enter(name, id string, score float64) {
	s.Do("ZADD", sim.KeyH(name), strconv.FormatFloat(score, 'f', 0, 64), id)
}

// Who weighs 1 is counted and the others are weighed, together and by turns, as
// they were granted and as they were renewed.
func TestSharedLightAndHeavy(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", time.Second), s.process("p1", time.Second), s.process("p2", time.Second)
		heavy := s.take(p0, "n", permits(3, 5))
		light := s.take(p1, "n", permits(1, 5))
		for range 30 {
			if s.fits(p2, "n", 2, 5) || !s.fits(p2, "n", 1, 5) {
				t.Fatal("3 and 1 of 5 are held: 2 fit, or 1 does not")
			}
			time.Sleep(100 * time.Millisecond)
		}
		next := s.wants(p2, "n", permits(2, 5))
		s.notBefore("two more", next, 3*time.Second)
		light.release()
		s.soon("two more", next, 100*time.Millisecond).release()
		heavy.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// A light one that dies is counted until its ttl ends and no longer.
func TestSharedLightEnds(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		const ttl = 3 * time.Second
		p0, p1, p2 := s.process("p0", ttl), s.process("p1", ttl), s.process("p2", ttl)
		s.take(p0, "n", permits(1, 2))
		living := s.take(p1, "n", permits(1, 2))
		p0.Kill()
		time.Sleep(ttl - 100*time.Millisecond)
		if s.fits(p2, "n", 1, 2) {
			t.Error("a permit is given before its holder's ttl has ended")
		}
		time.Sleep(100 * time.Millisecond)
		if !s.fits(p2, "n", 1, 2) {
			t.Error("a permit is not given when its holder's ttl has ended")
		}
		living.release()
	})
}

// A heavy one stays heavy while only the holders key can be reached.
func TestSharedHeavyOutlastsAMove(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", time.Second)
		held := s.take(p0, "n", permits(2, 3))
		moving := true
		s.on(func(step sim.Step, f *sim.Fate) {
			if moving && step.Kind == "shared_renew" {
				f.Refuse = "TRYAGAIN Multiple keys request during rehashing of slot"
			}
		})
		time.Sleep(3 * time.Second)
		if s.fits(p1, "n", 2, 3) || !s.fits(p1, "n", 1, 3) {
			t.Error("2 of 3 are held: 2 fit, or 1 does not")
		}
		s.Atomically(func() { moving = false })
		time.Sleep(2 * time.Second)
		held.release()
		s.none("n")
	})
}

// Holders that all stand by the bare end of their time, as they once did, are
// counted as they weigh, keep what they have, and give it back.
func TestSharedOldHolders(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", time.Second), s.process("p1", time.Second), s.process("p2", time.Second)
		one := s.take(p0, "n", permits(1, 4))
		two := s.take(p1, "n", permits(2, 4))
		moved := 0
		for id, score := range s.entries("n") {
			if score >= sim.Light {
				s.enter("n", id, score-sim.Light)
				moved++
			}
		}
		if moved != 1 {
			t.Errorf("%d stand above, want 1", moved)
		}
		for range 30 {
			if s.fits(p2, "n", 2, 4) || !s.fits(p2, "n", 1, 4) {
				t.Fatal("1 and 2 of 4 are held: 2 fit, or 1 does not")
			}
			time.Sleep(100 * time.Millisecond)
		}
		next := s.wants(p2, "n", permits(3, 4))
		s.notBefore("three", next, time.Second)
		two.release()
		s.soon("three", next, 100*time.Millisecond).release()
		one.release()
		time.Sleep(time.Second)
		s.none("n")
	})
}

// The lock key and the holders key live until the latest end of all who hold, whatever they weigh, and who
// leaves counts no more.
func TestSharedLivesAsLongAsTheLast(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", time.Second), s.process("p1", 15*time.Second), s.process("p2", 10*time.Second)
		lock, _, _ := sim.Keys("n")
		about := func(want time.Duration) {
			t.Helper()
			for _, key := range []string{lock, sim.KeyH("n")} {
				ms, _ := s.Do("PTTL", key).(int64)
				if left := time.Duration(ms) * time.Millisecond; left > want || left < want-500*time.Millisecond {
					t.Errorf("%s lives for %v more, want about %v", key, left, want)
				}
			}
		}
		for _, n := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}} {
			longest, longer := s.take(p1, "n", permits(n[0], 9)), s.take(p2, "n", permits(n[1], 9))
			s.take(p0, "n", permits(1, 9)).release()
			s.take(p0, "n", permits(2, 9)).release()
			about(15 * time.Second)
			short, too := s.take(p0, "n", permits(n[0], 9)), s.take(p0, "n", permits(n[0], 9))
			longest.release()
			about(10 * time.Second)
			longer.release()
			about(time.Second)
			short.release()
			about(time.Second)
			too.release()
			time.Sleep(time.Second)
			s.none("n")
		}
	})
}

// One whose renewal comes when its time has ended takes nobody with it.
func TestSharedLostOneDeletesNothing(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", time.Second), s.process("p1", 15*time.Second)
		for _, n := range [][2]int{{1, 2}, {2, 1}, {1, 1}} {
			before := time.Now()
			lost, kept := s.take(p0, "n", permits(n[0], 4)), s.take(p1, "n", permits(n[1], 4))
			s.Watch.Leaves(lost.held)
			for id, score := range s.entries("n") {
				bare := score
				if bare >= sim.Light {
					bare -= sim.Light
				}
				if bare < float64(before.Add(5*time.Second).UnixMicro()) {
					s.enter("n", id, score-2_000_000) // it has ended
				}
			}
			time.Sleep(500 * time.Millisecond)
			if err := lost.Err(); !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("whose time was ended: got %v, want ErrLost", err)
			}
			if found := s.entries("n"); len(found) != 1 {
				t.Errorf("%d are in the holders key, want the one that holds", len(found))
			}
			_ = lost.Release()
			kept.release()
			time.Sleep(time.Second)
			s.none("n")
		}
	})
}

// Thousands whose time has ended are removed some at a time, the light and the
// others, and nobody else is.
func TestSharedEndedBitByBit(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		light, heavy := s.take(p0, "n", permits(1, 4)), s.take(p1, "n", permits(2, 4))
		const ended = 1200 // of each
		for i := range ended {
			s.enter("n", fmt.Sprintf("dead%d.a.1000.s1|x", i), float64(sim.Light+1000+i))
			s.enter("n", fmt.Sprintf("dead%d.b.1000.s1|x", i), float64(1000+i))
		}
		if s.fits(p2, "n", 2, 4) {
			t.Error("1 and 2 of 4 are held, and 2 fit")
		}
		for step, want := range []int{3 + 2*700, 3 + 2*200, 3} {
			if step == 0 {
				defer s.take(p2, "n", permits(1, 4)).release()
			} else {
				heavy.release()
				heavy = s.take(p1, "n", permits(2, 4))
			}
			if got := s.Do("ZCARD", sim.KeyH("n")); step != 1 && got != int64(want) {
				t.Errorf("step %d: %v are in the holders key, want %d", step, got, want)
			}
		}
		if light.Err() != nil || heavy.Err() != nil {
			t.Errorf("who holds: %v, %v", light.Err(), heavy.Err())
		}
		light.release()
		heavy.release()
	})
}

// An entry whose time has ended is nobody's, as long as it may stand there: its
// late unlock takes nothing from the others, its late lock revives nothing.
func TestSharedEndedIsNobodys(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		only := func() (id string) {
			t.Helper()
			found := s.entries("n")
			for id = range found {
			}
			if len(found) != 1 {
				t.Fatalf("%d are in the holders key, want 1", len(found))
			}
			return id
		}
		ended := func(id string) { s.enter("n", id, float64(sim.Light+time.Now().UnixMicro()-1000)) }
		first := s.take(p0, "n", permits(1, 1))
		id := only()
		s.Watch.Leaves(first.held)
		ended(id)
		second := s.take(p1, "n", permits(1, 1))
		third := s.wants(p2, "n", permits(1, 1))
		ended(id) // as if nobody had removed it yet
		_ = first.Release()
		s.notBefore("the third", third, time.Second)

		go p2.Silence(5 * time.Second)
		time.Sleep(10 * time.Millisecond)
		second.release() // to the third, which doesn't hear of it
		time.Sleep(10 * time.Millisecond)
		id = only()
		fourth := s.soon("the fourth", s.wants(p0, "n", permits(1, 1)), 4*time.Second)
		ended(id)
		s.notBefore("the third, which was silent", third, 5*time.Second)
		fourth.release()
		s.soon("the third", third, 5*time.Second).release()
	})
}

// pad is a buffer for a logger.
type pad struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *pad) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pad) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// A caller that gives up to wait for a mutex whose name is another kind of lock leaves
// nothing behind, and nobody is warned.
func TestSharedMutexGivesUpQuietly(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		var log pad
		p0 := s.process("p0", 15*time.Second)
		p1 := s.Process("p1", holdfast.Options{TTL: 15 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}, 1)
		held := s.take(p0, "n", permits(1, 2))
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" {
				f.Out = 100 * time.Millisecond
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := p1.Client.Mutex("n").Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock: got %v, want the context's error", err)
		}
		time.Sleep(time.Second)
		held.release()

		mutex := s.lock(p0, "m") // and who waits in the queue of what was one
		refused := make(chan error, 1)
		go func() {
			_, err := p1.Client.Mutex("m").Lock(t.Context())
			refused <- err
		}()
		time.Sleep(500 * time.Millisecond)
		lock, _, queue := sim.Keys("m")
		s.Watch.Leaves(mutex.held)
		s.Do("DEL", lock)
		s.Do("HSET", lock, "kind", "semaphore", "capacity", "2")
		s.Do("PEXPIRE", lock, "60000")
		kind(t, "holdfast: m is a semaphore of 2, not a mutex", func() error {
			select {
			case err := <-refused:
				return err
			case <-time.After(time.Minute):
				return errors.New("nothing")
			}
		})
		time.Sleep(time.Second)
		if n := s.Do("ZCARD", queue); n != int64(0) {
			t.Errorf("%v are left in the queue", n)
		}
		if text := log.String(); text != "" {
			t.Errorf("it warns: %s", text)
		}
		_ = mutex.Release()
		s.Do("DEL", lock)
	})
}
