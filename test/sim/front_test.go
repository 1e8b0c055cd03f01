package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

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
