package fence

import (
	"context"
	"slices"
	"sync"

	"github.com/holdfast-go/holdfast"
)

// DefaultLimit is how many resources a Gate remembers unless Limit says more.
const DefaultLimit = 1 << 16

// Gate remembers the highest token of each resource and refuses lower ones. The
// zero value works. It is for a resource that only this process writes to, and it
// forgets when the process ends: what must outlast that, or has several writers,
// belongs into a Table. It does no I/O. Its methods may be called from many goroutines.
type Gate struct {
	// Limit is how many resources are remembered; 0 means DefaultLimit. When
	// there are more, those with the lowest tokens are forgotten, an eighth at a
	// time, and from then on what is not remembered passes only with a token that
	// is not below any that was forgotten. So a forgotten resource never takes a
	// stale token; but a lease that is older than a forgotten token is refused
	// where it comes for the first time. (Tokens follow the clock: that is a lease
	// held since before then.) Resources with requests inside, or waiting, are kept
	// beyond it.
	Limit int

	// Floor refuses all tokens below it, from the start. After a restart a Gate
	// takes whatever comes first; with the highest token that was written down
	// somewhere else it does not.
	Floor int64

	mu        sync.Mutex // guards the rest
	known     map[string]*mark
	forgotten int64 // the highest token that was forgotten
}

// mark is what is known of one resource.
type mark struct {
	token  int64         // the highest
	inside int           // requests that Enter let in and that have not left
	whose  int64         // their token
	waits  int           // requests that wait until these have left
	empty  chan struct{} // closed when they have left; nil: nobody waits for that
}

// idle tells that nobody is inside or waits to be: a waiter comes back to its mark.
func (m *mark) idle() bool { return m.inside == 0 && m.waits == 0 }

// Advance notes that a token is about to write to the resource, or to read what
// it will write. A token below the highest is a *holdfast.StaleError, and changes
// nothing. It is right only where what follows is one step with it, as under a
// mutex: a newer token may come while the write of an older one is under way. If it
// is not, use Enter.
func (g *Gate) Advance(resource string, token int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.advance(resource, token)
	return err
}

// Enter is Advance for work that takes time. A newer token waits until all with
// older ones have left, and no older one gets in meanwhile; equal ones are inside
// together. Call leave when the work is done, once or more often. The error is a
// *holdfast.StaleError, or that of ctx, which bounds the wait; in both cases there
// is nothing to leave. (The token counts all the same: it was seen.)
func (g *Gate) Enter(ctx context.Context, resource string, token int64) (leave func(), err error) {
	g.mu.Lock()
	for {
		m, err := g.advance(resource, token)
		if err != nil {
			g.mu.Unlock()
			return nil, err
		}
		if m.inside == 0 || m.whose == token {
			m.inside++
			m.whose = token
			g.mu.Unlock()
			return sync.OnceFunc(func() { g.leave(m) }), nil
		}
		if m.empty == nil {
			m.empty = make(chan struct{})
		}
		empty := m.empty
		m.waits++
		g.mu.Unlock()
		select {
		case <-empty:
		case <-ctx.Done():
			err = ctx.Err()
		}
		g.mu.Lock()
		m.waits--
		if err != nil {
			g.mu.Unlock()
			return nil, err
		}
	}
}

func (g *Gate) leave(m *mark) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.inside--; m.inside == 0 && m.empty != nil {
		close(m.empty)
		m.empty = nil
	}
}

// advance returns the mark of a resource that now has the token. The mutex is
// held.
func (g *Gate) advance(resource string, token int64) (*mark, error) {
	m := g.known[resource]
	newest := max(g.Floor, 1)
	if m != nil {
		newest = max(newest, m.token)
	} else {
		newest = max(newest, g.forgotten)
	}
	if token < newest {
		return nil, &holdfast.StaleError{Name: resource, Token: token, Newest: newest}
	}
	if m == nil {
		m = &mark{}
		g.remember(resource, m)
	}
	m.token = token
	return m, nil
}

func (g *Gate) remember(resource string, m *mark) {
	limit := g.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	if len(g.known) >= limit {
		g.forget()
	}
	if g.known == nil {
		g.known = make(map[string]*mark)
	}
	g.known[resource] = m
}

// forget drops the eighth of the resources with the lowest tokens.
func (g *Gate) forget() {
	tokens := make([]int64, 0, len(g.known))
	for _, m := range g.known {
		if m.idle() {
			tokens = append(tokens, m.token)
		}
	}
	if len(tokens) == 0 {
		return
	}
	slices.Sort(tokens)
	last := tokens[len(tokens)/8]
	for resource, m := range g.known {
		if m.idle() && m.token <= last {
			delete(g.known, resource)
		}
	}
	g.forgotten = max(g.forgotten, last)
}
