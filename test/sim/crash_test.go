package sim_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// A free name with a living waiter is idle for at most idleBound, beside what is left
// of the dead holder's ttl.
func idleBound(inFront int) time.Duration {
	return time.Second + time.Duration(inFront)*50*time.Millisecond
}

// processes are so many new ones.
func (c *waitingProcesses) processes(n int, ttl time.Duration) (links []*sim.Link) {
	for range n {
		l := c.process(fmt.Sprint("p", len(c.links)), ttl)
		c.links, links = append(c.links, l), append(links, l)
	}
	return links
}

// holderAndWaiters are the processes of a holder and of n waiters behind it.
func (c *waitingProcesses) holderAndWaiters(n int, ttl time.Duration) []*sim.Link {
	links := c.processes(1+n, ttl)
	c.soon("the holder", c.wait(links[0]), time.Second)
	for _, l := range links[1:] {
		c.wait(l)
	}
	return links
}

func kill(links []*sim.Link) {
	for _, l := range links {
		l.Kill()
	}
}

// A holder and forty waiters die together. One waiter behind them lives.
func TestCrashWithManyWaiters(t *testing.T) {
	const ttl, n = 2 * time.Second, 40
	bothKinds(t, func(c *waitingProcesses) {
		doomed := c.holderAndWaiters(n, ttl)
		next := c.wait(c.processes(1, ttl)[0])
		time.Sleep(10 * time.Second)
		kill(doomed)
		c.soon("the waiter that lives", next, ttl+idleBound(n)).release()
	})
}

// A waiter comes after the crash of a holder and thirty waiters.
func TestComesAfterACrash(t *testing.T) {
	const ttl, n = 5 * time.Second, 30
	bothKinds(t, func(c *waitingProcesses) {
		doomed := c.holderAndWaiters(n, ttl)
		kill(doomed)
		next := c.wait(c.processes(1, ttl)[0])
		c.soon("the waiter that came later", next, ttl+idleBound(n)).release()
	})
}

// The queue is lost while sixty waiters live; each of them is found again, in any order.
func TestQueueIsLost(t *testing.T) {
	const ttl, n = 15 * time.Second, 60
	bothKinds(t, func(c *waitingProcesses) {
		links := c.processes(1+n, ttl)
		first := c.soon("the holder", c.wait(links[0]), time.Second)
		for _, l := range links[1:] {
			got := c.wait(l)
			c.got = append(c.got, got)
		}
		var last sync.WaitGroup
		for i, got := range c.got {
			last.Go(func() { c.soon(fmt.Sprint("waiter ", i), got, ttl+idleBound(n)).release() })
		}
		_, _, queue := sim.Keys("n")
		c.Evict("n")
		c.Do("DEL", queue, sim.KeyH("n"))
		first.release()
		last.Wait()
	})
}

// Without pushes a waiter polls: a foreign holder lets go while all in front are dead.
func TestForeignHolderWithManyWaiters(t *testing.T) {
	const n = 40
	play(t, func(_ *testing.T, s stage) {
		c := &waitingProcesses{stage: s}
		lock, _, _ := sim.Keys("n")
		s.Do("SET", lock, "foreign", "PX", "60000")
		doomed := c.processes(n, 15*time.Second)
		for _, l := range doomed {
			c.wait(l)
		}
		next := c.wait(c.processes(1, 15*time.Second)[0])
		time.Sleep(10 * time.Second)
		kill(doomed)
		s.Do("DEL", lock)
		s.soon("the waiter that lives", next, time.Second+n*250*time.Millisecond).release()
	})
}
