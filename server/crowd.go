package server

import (
	"net/http"
	"sync"
)

// crowd counts what is under way: at most so many, and half of that of one token, so that
// nobody keeps all others out.
type crowd struct {
	mu   sync.Mutex // guards the rest
	most int
	all  int
	of   map[[32]byte]int // by token
}

func newCrowd(most int) *crowd { return &crowd{most: most, of: make(map[[32]byte]int)} }

// enter lets one of p in; else the problem says why not, of what. Who was let in leaves.
func (c *crowd) enter(p Principal, what string) (leave func(), _ *problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	half := c.most - c.most/2
	busy := func(format string, args ...any) (func(), *problem) {
		p := newProblem(http.StatusServiceUnavailable, "busy", format, args...)
		p.retryAfter = 1
		return nil, p
	}
	switch {
	case c.all >= c.most:
		return busy("%d %s, the most that this server allows", c.all, what)
	case p.id != [32]byte{} && c.of[p.id] >= half:
		return busy("%d %s with the token of %s, the most for one token", half, what, p.Label)
	}
	c.all++
	c.of[p.id]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[p.id]--; c.of[p.id] == 0 {
			delete(c.of, p.id)
		}
	}, nil
}

func (c *crowd) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
