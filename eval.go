package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrStale means that a newer lease of the name has written, so what comes with this token
// is refused. It is an ErrLost, too: who has an old token holds nothing. A
// *StaleError has both tokens.
var ErrStale = errors.New("holdfast: stale token")

// StaleError has the tokens of an ErrStale.
type StaleError struct {
	Name   string // what was to be written to: the name, or a resource of package fence
	Token  int64  // that was refused
	Newest int64  // that has written; 0: not known
}

func (e *StaleError) Error() string {
	if e.Newest == 0 {
		return fmt.Sprintf("holdfast: %s: token %d is stale: a newer one has written", e.Name, e.Token)
	}
	return fmt.Sprintf("holdfast: %s: token %d is stale: %d has written", e.Name, e.Token, e.Newest)
}

// Unwrap makes errors.Is true for ErrStale and ErrLost.
func (e *StaleError) Unwrap() []error { return []error{ErrStale, ErrLost} }

// Eval runs a Lua script of the caller in Redis, in one step with the question
// whether this lease may write: only while the name is this process's there, and
// only if no lease that came after this one has run a script by Eval. So a write
// that was frozen or delayed on its way can't come after those of the next holder
// that has called Eval; call it before you read what you are going to change, or
// let the script itself read. What the store keeps elsewhere is not covered, see
// package fence.
//
// In the script KEYS and ARGV are keys and args. It is any Lua that EVAL takes, but
// for a "#!" line. The lock's key, and keys that begin with "holdfast/", can't be
// among keys. In a Cluster all keys must hash as the lock's key does, which is
// prefix and name: with Options.Prefix "{app}:" all do; anything else is an error
// before it is sent. Redis remembers each script: pass values by args.
//
// The answer is a list: its elements as text, an answer that is no table as one
// element, nil as none. A table within a table is an error, after the script ran:
// use cjson.encode.
//
// nil: it ran to its end. A LostError or StaleError: it did not run. A ServerError,
// word for word, is what the script raised or returned, in which case what it had
// written before stays, or why the server refused it. ErrUnreachable, or the end of
// ctx: nobody knows whether it ran, or will yet run while the lease lasts; it is
// not sent again. A client library that repeats calls by itself, as go-redis does
// unless the driver made it, may run it twice.
//
// It costs one round trip, and a call more of SET for the first of a lease. With
// Options.WaitReplicas it does not wait for replicas: a failover may forget what
// was written, as without a lock. On a quorum it is refused: there is no one place
// to write to; check the token where you write (package fence).
func (l *Lease) Eval(ctx context.Context, script string, keys, args []string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, u, line := l.client.core, l.turn, l.turn.line
	if c.quorum != nil {
		return nil, notOnQuorum(line.name, "Lease.Eval (package fence checks the token where you write)")
	}
	if line.shared != nil {
		return nil, errNotShared(line.name, "Lease.Eval")
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	if err := checkGuarded(script, line.keys, keys, c.store.Sharded()); err != nil {
		return nil, fmt.Errorf("holdfast: %s: %w", line.name, err)
	}
	call := Call{
		Script: c.guarded.script(script),
		Keys:   append([]string{line.keys.lock(), line.keys.written()}, keys...),
		Args:   append([]string{u.tenure.id, itoa(u.token)}, args...),
	}
	reply, err := c.evalBounded(ctx, call)
	said, refused := asServerError(err)
	switch {
	case err == nil:
		return reply, nil
	case refused:
		return nil, l.evalRefused(said)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &storeError{line.name, ErrUnreachable, err}
}

// evalRefused tells the guard's words from those of the script and the server.
func (l *Lease) evalRefused(said ServerError) error {
	u := l.turn
	verdict, _ := strings.CutPrefix(string(said), "HOLDFAST ")
	switch kind, about, _ := strings.Cut(verdict, ": "); {
	case kind == "stale":
		newest, _ := strconv.ParseInt(about, 10, 64)
		return &StaleError{Name: l.Name(), Token: u.token, Newest: newest}
	case verdict == "lost: gone" || verdict == "lost: taken":
		l.doubt()
		if err := l.Err(); err != nil {
			return err
		}
		return &LostError{Name: l.Name(), Token: u.token, Cause: Cause(about)}
	}
	return said
}

// doubt renews now: Redis has just said that the name is not ours, and if that
// is so the renewal ends the lease.
func (l *Lease) doubt() {
	u := l.turn
	c, t := u.line.c, u.tenure
	c.mu.Lock()
	defer c.unlock()
	if c.closed || t.phase != holding || u.line.tenure != t {
		return
	}
	now := c.clock.now()
	u.line.renew(t, now) // also where one is under way: it may have run before that
	u.line.arm(now)
}
