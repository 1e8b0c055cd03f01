package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Each test here is of a waiter that joined far behind, so that it would look again
// late, and has come near since: when the holder and the head die together, so that
// nobody is left who was told to look, it looks in time.

// waitingProcesses are processes that stand in one line.
type waitingProcesses struct {
	stage
	part  sim.Part // Size 0: a mutex
	links []*sim.Link
	got   []<-chan hold
}

// bothKinds plays a test with a mutex and with a semaphore.
func bothKinds(t *testing.T, f func(c *waitingProcesses)) {
	for name, part := range map[string]sim.Part{"mutex": {}, "semaphore": permits(1, 1)} {
		t.Run(name, func(t *testing.T) {
			play(t, func(_ *testing.T, s stage) { f(&waitingProcesses{stage: s, part: part}) })
		})
	}
}

func (c *waitingProcesses) newLink() *sim.Link {
	l := c.process(fmt.Sprint("p", len(c.links)), time.Second)
	c.links = append(c.links, l)
	return l
}

func (c *waitingProcesses) wait(l *sim.Link) <-chan hold {
	if c.part.Size > 0 {
		return c.wants(l, "n", c.part)
	}
	return c.waits(l, "n")
}

// join lets so many more processes wait.
func (c *waitingProcesses) join(n int) {
	for range n {
		c.got = append(c.got, c.wait(c.newLink()))
	}
}

// joinFor lets so many processes wait and give up after d.
func (c *waitingProcesses) joinFor(n int, d time.Duration) {
	for range n {
		l := c.newLink()
		ctx, cancel := context.WithTimeout(context.Background(), d)
		go func() {
			defer cancel()
			if c.part.Size == 0 {
				_, _ = l.Client.Mutex("n").Lock(ctx)
			} else {
				_, _ = c.part.Lock(ctx, l, "n", false)
			}
		}()
		time.Sleep(20 * time.Millisecond)
	}
}

const (
	far     = 90  // places: who asks behind them looks again 4.5 s after the holder's time
	farther = 180 // 9 s
)

func TestFrontAfterTurns(t *testing.T) {
	bothKinds(t, func(c *waitingProcesses) {
		first := c.soon("the first", c.wait(c.newLink()), time.Second)
		c.join(far + 2)
		for _, next := range c.got[:far-1] {
			first.release()
			first = c.soon("a turn", next, time.Second)
		}
		c.links[far-1].Kill()
		c.links[far].Kill()
		c.soon("the first that lives", c.got[far], 3*time.Second).release()
	})
}

func TestFrontAfterOthersGaveUp(t *testing.T) {
	bothKinds(t, func(c *waitingProcesses) {
		c.soon("the holder", c.wait(c.newLink()), time.Second)
		c.join(1) // the head
		c.joinFor(farther, 4*time.Second)
		c.join(1)
		time.Sleep(4500 * time.Millisecond)
		c.links[0].Kill()
		c.links[1].Kill()
		c.soon("the first that lives", c.got[1], 3*time.Second).release()
	})
}

func TestFrontAfterTheHeadGaveUp(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	bothKinds(t, func(c *waitingProcesses) {
		c.soon("the holder", c.wait(c.newLink()), time.Second)
		c.joinFor(farther, 4*time.Second) // in the order of their coming: always the head
		c.join(2)
		time.Sleep(4500 * time.Millisecond)
		c.links[0].Kill()
		c.links[farther+1].Kill()
		c.soon("the first that lives", c.got[1], 3*time.Second).release()
	})
}

func TestFrontWhileCoolingDown(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		c := &waitingProcesses{stage: s}
		holder := s.keeps(c.newLink(), "n", 8*time.Second)
		c.join(far + 2)
		for _, l := range c.links[1 : far+1] {
			l.Kill()
		}
		holder.release()
		c.links[far+1].Kill()
		c.soon("the first that lives", c.got[far+1], 5*time.Second).release()
	})
}

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

// The answer to a waiter of a shared kind says when it polls: after the time in which the head may
// be silent, and 50 ms for each in front; after that time alone if this request has named the head. A clock that
// has gone back makes it no later.
func TestSharedPollsByPlace(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		lock, fence, queue := sim.Keys("n")
		id := func(i int) string { return fmt.Sprintf("c.n%d.15000.s1|x", i) }
		sub, err := s.process("p0", 15*time.Second).Subscribe(t.Context(), "holdfast/push:c", func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		ask := func(i int, mode string) string {
			answer := fmt.Sprint(s.Do("EVAL", script.SharedLock.Source, "5", lock, fence, queue, sim.KeyH("n"), "size", id(i), "1", mode, "0", ""))
			time.Sleep(100 * time.Millisecond)
			if fields := strings.Fields(answer); fields[0] == "queued" {
				return fields[8]
			}
			return ""
		}
		ask(0, "try")
		for i := range 21 {
			s.Do("ZADD", queue, itoa(int64(i+1)), id(i+1))
		}
		for _, want := range []struct {
			of   int
			poll string
		}{{21, "2000"}, {21, "2900"}, {3, "1900"}, {1, "667"}, {3, "2000"}} {
			if got := ask(want.of, "wait"); got != want.poll {
				t.Errorf("the waiter at place %d polls after %q ms, want %s", want.of-1, got, want.poll)
			}
		}
		s.Do("HSET", lock, "asked", itoa(time.Now().Add(time.Hour).UnixMicro())) // the clock has gone back since
		if got, want := ask(3, "wait"), "2100"; got != want {
			t.Errorf("after the clock has gone back a waiter polls after %q ms, want %s", got, want)
		}
		s.Do("DEL", lock, fence, queue, sim.KeyH("n"), "size")
	})
}

// One run grants to the head and ends one who gave up far behind: who comes near by
// both is told, and not the one who left.
func TestFrontWhenTheHeadIsGrantedAndOneGaveUp(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		lock, fence, queue := sim.Keys("n")
		id := func(i int) string { return fmt.Sprintf("c.n%d.15000.s1|x", i) }
		var mu sync.Mutex
		var told []string // protected by mu
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
