// Package exported handles holds without a process: Lease.Export gave them away, and no Client
// has adopted them. A [Hold] is the content of an exported text, which [Parse] reads. [Calls]
// inspects, renews and releases a hold in Redis.
package exported

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// State is the state of a hold that is not over.
type State struct {
	Owner     string        // label of the exporter
	TTL       time.Duration // of the exporter; a renewal sets it again
	Remaining time.Duration // until the holder must stop; above 0
	Waiting   int           // number of waiters
}

// The causes of an [Ended].
const (
	Taken   = wire.CauseTaken // another holder has the name or has adopted the hold
	Gone    = wire.CauseGone  // it expired or was released, or the key was deleted
	Revoked = wire.CauseRevoked
	Stolen  = wire.CauseStolen
	Expired = "expired" // the time that remains is too short
)

// Ended is the error for a hold that is over.
type Ended struct {
	Hold   Hold
	Cause  string // one of the above
	Reason string // of a revocation
}

func (e *Ended) Error() string { return "the hold is over: " + e.Cause }

// Late is the error for an answer that came when the hold was nearly over.
type Late struct {
	Hold           Hold
	TTL, RoundTrip time.Duration
}

func (e *Late) Error() string { return fmt.Sprintf("the answer took %v", e.RoundTrip) }

// Unacknowledged is the error for a renewal that too few replicas acknowledged.
type Unacknowledged struct {
	Hold      Hold
	Want, Got int
}

func (e *Unacknowledged) Error() string {
	return fmt.Sprintf("%d of %d replicas acknowledged the renewal", e.Got, e.Want)
}

// Calls inspects, renews and releases one hold in Redis.
type Calls struct {
	Hold     Hold
	Keys     *keyspace.Keys
	Caller   *call.Caller
	Patience time.Duration // how long each call is retried
}

// Inspect returns the state of the hold. It changes nothing.
func (c *Calls) Inspect(ctx context.Context) (*State, error) { return c.run(ctx, c.call()) }

// Renew prolongs the hold by the TTL of the exporter. If replicas is not 0, that number of
// replicas must acknowledge the renewal.
func (c *Calls) Renew(ctx context.Context, replicas int) (*State, error) {
	state, err := c.run(ctx, c.call("renew"))
	if err != nil || replicas == 0 {
		return state, err
	}
	return c.renewAcknowledged(ctx, state, replicas)
}

func (c *Calls) call(word ...string) driver.Call {
	if c.Hold.Shared() {
		keys := append(c.Keys.WithHolders(), c.Keys.RevocationOf(c.Hold.ID))
		if c.Hold.Permits() {
			keys = append(keys, c.Keys.Size())
		}
		return driver.Call{Script: script.SharedExported, Keys: keys, Args: append([]string{c.Hold.ID}, word...)}
	}
	return driver.Call{Script: script.Exported, Keys: c.Keys.WithRevocation(), Args: append([]string{c.Hold.ID, strconv.FormatInt(c.Hold.Last, 10)}, word...)}
}

func (c *Calls) run(ctx context.Context, call driver.Call) (*State, error) {
	reply, sent, err := c.until(ctx, c.end(), call)
	if err != nil {
		return nil, err
	}
	return c.read(reply, sent)
}

func (c *Calls) end() clock.Instant { return c.Caller.Clock.Now().Add(c.Patience) }

func (c *Calls) until(ctx context.Context, end clock.Instant, call driver.Call) ([]string, clock.Instant, error) {
	return c.Caller.Until(ctx, end, c.Hold.Name, call)
}

// read reads the answer of the script. Its times count from sent.
func (c *Calls) read(reply []string, sent clock.Instant) (*State, error) {
	a, err := wire.DecodeAnswer(reply)
	if err != nil {
		return nil, wire.Failure(c.Hold.Name, nil, err)
	}
	switch a.Word {
	case wire.Stands:
	case wire.Revoked, wire.Stolen, wire.Lost, wire.Adopted:
		return nil, &Ended{c.Hold, a.Ending(), a.Reason}
	default:
		return nil, wire.Failure(c.Hold.Name, nil, fmt.Errorf("exported was answered %q", a.Word))
	}
	id, _ := keyspace.ParseID(c.Hold.ID)
	life := a.PTTL
	if life < 0 { // somebody took the expiry away
		life = id.TTL
	}
	now := c.Caller.Clock.Exact()
	state := &State{Owner: id.Owner, TTL: id.TTL, Remaining: clock.Deadline(sent, life).Sub(now), Waiting: int(a.Waiting)}
	switch {
	case state.Remaining > 0:
		return state, nil
	case now.Sub(sent) < life/2: // that little was left
		return nil, &Ended{c.Hold, Expired, a.Reason}
	}
	return nil, &Late{c.Hold, id.TTL, now.Sub(sent)}
}

// renewAcknowledged renews once more, with WAIT behind it on the same connection.
func (c *Calls) renewAcknowledged(ctx context.Context, state *State, replicas int) (*State, error) {
	callers := ctx
	wait := call.WaitFor(state.Remaining)
	ctx, cancel := context.WithTimeout(ctx, wait+c.Caller.Attempt)
	defer cancel()
	type outcome struct {
		reply []string
		err   error
		acked int
	}
	done := make(chan outcome, 1)
	sent := c.Caller.Clock.Exact()
	go func() {
		results, acked, err := c.Caller.Store.EvalWait(ctx, []driver.Call{c.call("renew")}, replicas, wait)
		done <- outcome{results[0].Reply, cmp.Or(results[0].Err, err), acked}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		o.err = ctx.Err()
	}
	switch {
	case callers.Err() != nil:
		return nil, callers.Err()
	case o.err != nil:
		return nil, wire.Unanswered(c.Hold.Name, c.Keys.Lock(), wire.WithoutContext(o.err))
	case o.acked < replicas:
		return nil, &Unacknowledged{c.Hold, replicas, o.acked}
	}
	return c.read(o.reply, sent)
}

// Release ends the hold and hands the name over to the next waiter. released can be true beside
// an error: the hold had been revoked or had little time left, and is released now.
func (c *Calls) Release(ctx context.Context) (released bool, err error) {
	_, err = c.Inspect(ctx)
	ended, over := errors.AsType[*Ended](err)
	standing := over && (ended.Cause == Revoked || ended.Cause == Expired)
	if err != nil && !standing {
		return false, err
	}
	for end := c.end(); ; {
		reply, _, unlockErr := c.until(ctx, end, c.unlock())
		if unlockErr != nil {
			return false, unlockErr
		}
		a, unlockErr := wire.DecodeAnswer(reply)
		switch {
		case unlockErr != nil:
			return false, wire.Failure(c.Hold.Name, nil, unlockErr)
		case a.Word == wire.NotHeld && err == nil: // Inspect saw it a moment ago
			return false, c.overtaken(ctx)
		case a.Word == wire.Released || a.Word == wire.NotHeld:
			return true, err
		case a.Word != wire.Again:
			return false, wire.Failure(c.Hold.Name, nil, fmt.Errorf("unlock was answered %q", a.Word))
		}
	}
}

func (c *Calls) unlock() driver.Call {
	call := driver.Call{Script: script.Unlock, Keys: c.Keys[:], Args: []string{c.Hold.ID}}
	if c.Caller.Store.Sharded() {
		call.Args = append(call.Args, c.Keys.ShardSuffix())
	}
	if c.Hold.Shared() {
		call.Script, call.Keys = script.SharedUnlock, c.Keys.WithHolders()
	}
	return call
}

// overtaken says why a hold is gone that Inspect saw a moment ago. It returns an error if another
// Client has adopted or stolen it. Else unlock has run twice, and its first run ended the hold.
func (c *Calls) overtaken(ctx context.Context) error {
	reply, sent, err := c.until(ctx, c.end(), c.call())
	if err != nil {
		return err
	}
	if a, err := wire.DecodeAnswer(reply); err == nil && a.Word != wire.Adopted && a.Word != wire.Stolen {
		return nil
	}
	_, err = c.read(reply, sent)
	return err
}
