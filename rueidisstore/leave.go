package rueidisstore

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// leaveTimeout bounds QUIT. The server has just answered, so it is long.
const leaveTimeout = time.Second

// standalone reports whether the client has one address, and so does not know of a failover.
func (s *Store) standalone() bool { return s.client.Mode() == rueidis.ClientModeStandalone }

// leave closes the connection for scripts. rueidis keeps a connection until it breaks, and has no
// method that closes one, so the server does it: QUIT needs no right. The second QUIT has no answer.
// It ends when rueidis has seen the end of the connection, so the next command dials.
//
// The connections of EvalWait are in a pool of rueidis. leave takes out as many as the store has
// put there. The pool returns the newest first. If the program uses the pool, too, some may be the
// program's, and some of ours may stay: each ends when EvalWait meets it.
func (s *Store) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	quit := func() rueidis.Completed { return s.client.B().Arbitrary("QUIT").Build().ToPipe() }
	s.client.DoMulti(ctx, quit(), quit())
	for range s.pooled.forget() {
		conn, _ := s.client.Dedicate()
		conn.Close()
	}
}

// pooled counts the connections for EvalWait that are in the pool of the client.
type pooled struct {
	mu   sync.Mutex // protects the rest
	idle int
	left int // how often they were left
}

// forget returns how many connections there are, and counts from 0.
func (p *pooled) forget() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.idle
	p.idle = 0
	p.left++
	return n
}

// dedicate takes a connection out of the pool, or dials. release puts it back, or closes it if
// leave was called meanwhile.
func (s *Store) dedicate(node rueidis.Client) (conn rueidis.DedicatedClient, release func()) {
	p := &s.pooled
	p.mu.Lock()
	p.idle = max(p.idle-1, 0)
	left := p.left
	p.mu.Unlock()
	conn, put := node.Dedicate()
	return conn, func() {
		p.mu.Lock()
		stale := p.left != left
		if !stale {
			p.idle++
		}
		p.mu.Unlock()
		if stale {
			conn.Close()
		} else {
			put()
		}
	}
}
