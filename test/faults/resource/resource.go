// Package resource is what the lock protects: a process of its own that keeps two
// registers for each name. One is behind a fence, which refuses tokens below the highest it
// has seen; the other is not. Both are read and written in two steps, as a careless program
// does, so an update that two make at a time is lost. It writes each of its decisions down.
//
// A register is a set, too: what a writer adds is itself, to what it has read.
package resource

import (
	"bufio"
	"fmt"
	"net"
	"sync"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Serve answers on a listener, and notes what it decides, until that is closed.
func Serve(listener net.Listener, notes *history.Writer) {
	r := &resource{notes: notes, registers: map[string]*register{}}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go r.serve(conn)
	}
}

type resource struct {
	notes *history.Writer

	mu        sync.Mutex // protects the rest; held while a decision is noted, so that notes are in the order of decisions
	registers map[string]*register
}

// register is both of a name.
type register struct {
	fence   int64
	version int64 // of the one behind the fence
	free    int64 // of the one without
}

// request is a line: what, name, attempt, token, and of a write the two bases.
type request struct {
	what           string
	name           string
	attempt, token int64
	base, freeOf   int64
}

func (r *resource) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var q request
		if _, err := fmt.Sscan(line, &q.what, &q.name, &q.attempt, &q.token, &q.base, &q.freeOf); err != nil {
			return
		}
		ok, version, free := r.decide(&q)
		if _, err := fmt.Fprintln(conn, ok, version, free); err != nil {
			return
		}
	}
}

// decide reads or writes. What is below the fence is refused; the register
// without a fence takes everything.
func (r *resource) decide(q *request) (ok, version, free int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.registers[q.name]
	if g == nil {
		g = &register{}
		r.registers[q.name] = g
	}
	e := history.Event{Attempt: q.attempt, Name: q.name, Token: q.token, Mode: history.Exclusive}
	refused := q.token < g.fence
	g.fence = max(g.fence, q.token)
	switch {
	case q.what == "r" && refused:
		e.What, e.Version = history.Bar, g.fence
	case q.what == "r":
		e.What, e.Version, e.Free = history.Advance, g.version, g.free
	default:
		g.free++
		e.Free, e.FreeOf = g.free, q.freeOf
		if refused {
			e.What, e.Version = history.Refuse, g.fence
			break
		}
		g.version++
		e.What, e.Version, e.Base = history.Accept, g.version, q.base
	}
	r.notes.Note(e)
	if refused {
		return 0, g.version, g.free
	}
	return 1, g.version, g.free
}
