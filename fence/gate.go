package fence

import (
	"context"
	"slices"
	"sync"

	"github.com/holdfast-go/holdfast"
)

// DefaultLimit is the number of resources that a Gate remembers if Limit is 0.
const DefaultLimit = 1 << 16

// Gate remembers the highest token of each resource in memory and refuses lower
// ones. Use it for a resource that only this process writes to. It forgets all tokens
// when the process ends. If several processes write, or tokens must survive a restart,
// use a Table.
// A Gate does no I/O. The zero value works. Its methods are safe for concurrent use.
type Gate struct {
	// Limit is the number of resources that the Gate remembers; 0 means
	// DefaultLimit. If there are more, the Gate forgets one eighth of them, those with
	// the lowest tokens. From then on, an unknown resource refuses tokens lower than
	// the highest forgotten token. So a forgotten resource never accepts a stale
	// token. But a valid lease can be refused at a resource that is new to the Gate.
	// This affects only leases that are older than the lease of that token. The Gate
	// never forgets a resource that a request uses or waits for.
	Limit int

	// Floor is the lowest token that the Gate accepts. Without it, a Gate accepts any
	// first token after a restart. To prevent this, store the highest token elsewhere
	// and set Floor to it.
	Floor int64

	mu        sync.Mutex // protects the rest
	known     map[string]*mark
	forgotten int64 // the highest token that was forgotten
}

// mark is what is known of one resource.
type mark struct {
	token  int64         // the highest
	inside int           // requests that Enter let in and that have not left
	whose  int64         // their token
	waits  int           // requests that wait until these have left
	empty  chan struct{} // closed when they have left; nil: no request waits for that
}

// idle reports that no request is inside or waits: a waiter comes back to its mark.
func (m *mark) idle() bool { return m.inside == 0 && m.waits == 0 }

// Advance records that a token is about to read from or write to the resource. If the
// token is lower than the highest, Advance returns a *holdfast.StaleError and changes
// nothing. Use Advance only if no other request can come between it and your write, for example under a
// sync.Mutex. Otherwise use Enter.
func (g *Gate) Advance(resource string, token int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.advance(resource, token)
	return err
}

// Enter is Advance for work that takes time. It waits until all requests with an older
// token have left. Meanwhile older tokens are refused; requests with equal tokens run
// at the same time. Call leave when the work is done; further calls do nothing. The
// error is a *holdfast.StaleError or the error of ctx, which limits the wait. After an
// error you need not call leave. After an error of ctx the Gate remembers the token.
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
