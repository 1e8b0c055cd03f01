package details

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const (
	// Every is how often the details are written while a name is held or waited for.
	Every = 20 * time.Minute

	noteTTL     = time.Hour // of the details after a write, beyond the TTL
	removalWait = 250 * time.Millisecond
	maxExports  = 32 // exported tenures that are stored, the newest
)

// Note writes the details of a Client to Redis and removes them. No lock waits for that, or
// fails with it. A nil Note does nothing.
type Note struct {
	caller  *call.Caller
	call    driver.Call   // without its text and ttl
	ttl     time.Duration // of the details after a write
	warn    func(error)
	writing chan struct{} // of 1: one writes at a time, so that an old text never comes last

	mu     sync.Mutex // protects the rest; its owner's mutex may be held, and is never taken under it
	about  Stored
	due    bool // a write was asked for and has not read about
	sent   bool // it was ever sent
	warned bool
}

// NewNote makes the Note of the client with this id and TTL. It calls warn with the first
// error of a write, if the caller was not closed by then.
func NewNote(p Process, client string, ttl time.Duration, caller *call.Caller, warn func(error)) *Note {
	return &Note{
		caller: caller, warn: warn, writing: make(chan struct{}, 1), about: Stored{Process: p.Clean()},
		call: driver.Call{Script: script.DetailsNote, Keys: []string{keyspace.Details(client)}}, ttl: noteTTL + ttl,
	}
}

// Exported adds an exported tenure to the details. They may outlive the Client.
func (n *Note) Exported(id string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.about.Exported = append(n.about.Exported, keyspace.HashID(id))
	n.about.Exported = n.about.Exported[max(0, len(n.about.Exported)-maxExports):]
}

// Wanted asks for a write, and reports whether the caller must call Write. If not, an earlier
// write has not read the details yet. So a Client that exports faster than Redis answers piles
// up no writes.
func (n *Note) Wanted() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent = true
	if n.due {
		return false
	}
	n.due = true
	return true
}

// Write writes the details once, without retries. The next write is due after [Every].
func (n *Note) Write() {
	n.writing <- struct{}{}
	defer func() { <-n.writing }()
	closed := n.caller.Closed() != nil
	n.mu.Lock()
	note := n.with(n.about.Text())
	n.due = false
	n.mu.Unlock()
	if closed { // Remove has the last word
		return
	}
	_, err := n.caller.Run(n.caller.Life, n.caller.Attempt, note)
	closed = n.caller.Closed() != nil
	n.mu.Lock()
	known := err == nil || closed || n.warned
	n.warned = n.warned || !known
	n.mu.Unlock()
	if known {
		return
	}
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, "")
	}
	n.warn(err)
}

// with returns the call that writes text; mu is held. If a tenure was exported, no Client may
// be left to write again.
func (n *Note) with(text string) driver.Call {
	call, ttl := n.call, n.ttl
	if len(n.about.Exported) > 0 {
		ttl += n.about.Expect
	}
	call.Args = []string{text, strconv.FormatInt(ttl.Milliseconds(), 10)}
	return call
}

// Remove removes the details, or keeps them until they expire if a tenure was exported. It
// closes the channel that it returns when this is done or ctx has ended.
func (n *Note) Remove(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	if n == nil {
		close(done)
		return done
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.sent {
		close(done)
		return done
	}
	text := ""
	if len(n.about.Exported) > 0 {
		text = n.about.Text()
	}
	note := n.with(text)
	go func() {
		defer close(done)
		select {
		case n.writing <- struct{}{}:
			defer func() { <-n.writing }()
		case <-time.After(removalWait):
		}
		_, _ = n.caller.Run(ctx, removalWait, note) // it expires
	}()
	return done
}
