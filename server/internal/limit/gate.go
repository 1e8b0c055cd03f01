package limit

import (
	"sync"

	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// Gate limits the requests that are under way. One token gets at most half of the limit,
// so it cannot keep all others out.
type Gate struct {
	what string

	mu    sync.Mutex // protects the rest
	limit int
	all   int
	of    map[[32]byte]int // by token
}

// NewGate makes a Gate of what is counted, such as "open streams".
func NewGate(most int, what string) *Gate {
	return &Gate{what: what, limit: most, of: make(map[[32]byte]int)}
}

// Enter lets one of p in; else the error says why not. One that was let in leaves.
func (c *Gate) Enter(p auth.Principal) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, half := p.Token(), c.limit-c.limit/2
	switch {
	case c.all >= c.limit:
		return nil, reply.NewProblem("busy", "%d %s, the most that this server allows", c.all, c.what)
	case id != [32]byte{} && c.of[id] >= half:
		return nil, reply.NewProblem("busy", "%d %s with the token of %s, the most for one token", half, c.what, p.Label)
	}
	c.all++
	c.of[id]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[id]--; c.of[id] == 0 {
			delete(c.of, id)
		}
	}, nil
}

// Size is how many are in.
func (c *Gate) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
