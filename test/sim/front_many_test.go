package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Five hundred dead leave a queue by a run of a script that gives the name to nobody:
// who comes near by that is told, too, and looks in time when those before it die.
func TestFrontBehindManyDead(t *testing.T) {
	bothKinds(t, func(c *waitingProcesses) {
		first := c.soon("the first", c.wait(c.newLink()), time.Second)
		if doomed := c.newLink(); c.part.Size > 0 {
			for range 501 {
				c.wait(doomed)
			}
			defer doomed.Kill()
		} else {
			_, _, queue := sim.Keys("n")
			for i := range 501 {
				c.Do("ZADD", queue, itoa(int64(i)), fmt.Sprintf("dead.n%d.15000|x", i))
			}
		}
		c.join(3)
		c.links[1].Kill()
		first.release()
		c.soon("the first that lives", c.got[0], 5*time.Second)
		c.links[2].Kill()
		c.links[3].Kill()
		c.soon("the next that lives", c.got[2], 5*time.Second).release()
	})
}

// A caller that gives up behind the head is gone, whatever the fence key holds: only who gets
// the name needs a token.
func TestGivenUpWhileTheFenceIsDamaged(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder := s.lock(s.process("p0", 15*time.Second), "n")
		next := s.waits(s.process("p1", 15*time.Second), "n")
		s.giveUpLater(s.process("p2", 15*time.Second), "n", time.Second)
		_, fence, _ := sim.Keys("n")
		token := fmt.Sprint(s.Do("GET", fence))
		s.Do("SET", fence, "damaged")
		time.Sleep(2 * time.Second)
		if _, waiters := s.left("n"); waiters != 1 {
			t.Errorf("%d wait in the queue, want 1", waiters)
		}
		s.Do("SET", fence, token)
		holder.release()
		s.soon("the next", next, time.Second).release()
	})
}

// One run grants to the head and ends one who gave up far behind: who comes near by
// both is told, and not the one who left.
func TestFrontWhenTheHeadIsGrantedAndOneGaveUp(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		lock, fence, queue := sim.Keys("n")
		id := func(i int) string { return fmt.Sprintf("c.n%d.15000.s1|x", i) }
		var mu sync.Mutex
		var told []string // guarded by mu
		sub, err := s.process("p0", 15*time.Second).Subscribe(t.Context(), "holdfast/push:c", func(push string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, push)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		s.Do("HSET", lock, "kind", "semaphore", "capacity", "1")
		for i := range 20 {
			s.Do("ZADD", queue, itoa(int64(i)), id(i))
		}
		s.Do("EVAL", script.SharedUnlock.Source, "4", lock, fence, queue, sim.KeyH("n"), id(16))
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		near := slices.DeleteFunc(told, func(push string) bool { return !strings.HasPrefix(push, "front ") })
		if len(near) != 1 || !strings.HasSuffix(near[0], " "+id(17)) {
			t.Errorf("told: %q; want %s alone", near, id(17))
		}
		s.Do("DEL", lock, fence, queue, sim.KeyH("n"))
	})
}
