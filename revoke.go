package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// ErrTenure means that the given tenure does not hold the name, or no longer. A
// [*TenureError] names the holder.
var ErrTenure = errors.New("holdfast: not the holder")

// TenureError means that a Revoke or Steal was for a tenure that does not hold the
// name. Nothing was changed.
type TenureError struct {
	Name   string
	Tenure string  // hash that the call gave
	Holder *Holder // nil if the name is free; not a holder if Cooldown is set
}

func (e *TenureError) Error() string {
	h := e.Holder
	switch {
	case h == nil:
		return fmt.Sprintf("holdfast: %s is not held by tenure %s: it is free", e.Name, e.Tenure)
	case h.Cooldown:
		text := fmt.Sprintf("holdfast: %s is not held by tenure %s: it is in cool-down until MinHold has passed after the hold of %s", e.Name, e.Tenure, given(h.Owner, "another"))
		if h.Remaining > 0 {
			text += fmt.Sprintf(", in %v", h.Remaining.Round(time.Millisecond))
		}
		return text
	case h.Hash == e.Tenure:
		return fmt.Sprintf("holdfast: %s is held by a client of another library: holdfast cannot revoke or steal it; if that client is dead, delete the key in Redis", e.Name)
	case h.Foreign:
		return fmt.Sprintf("holdfast: %s is not held by tenure %s, but by a client of another library", e.Name, e.Tenure)
	}
	return fmt.Sprintf("holdfast: %s is not held by tenure %s, but by tenure %s of %s", e.Name, e.Tenure, h.Hash, given(h.Owner, "another"))
}

// Unwrap returns [ErrTenure].
func (e *TenureError) Unwrap() error { return ErrTenure }

// Revoke asks the holder of a name to stop. The lease of the holder ends with
// [ErrLost], cause [Revoked]. The name stays held until the holder's Release, or for
// one ttl, so the holder has time to stop. A lease with [Mutex.NoRenew] keeps
// its own end, if that is sooner. If the holder's process cannot be reached, the name
// stays held until the lease expires. [Client.Steal] does not wait for that.
//
// The tenure is the hash of the holder that you mean, from [Holder.Hash]. If it does not hold
// the name any more, Revoke returns [ErrTenure] and changes nothing. For a [Semaphore]
// or an [RWMutex], Revoke ends this one lease only. The holder can read the first 200
// bytes of reason.
//
// The result notified is the number of subscriptions that received the revocation at
// once. It is 0 if the holder does not listen, and on a Cluster. The holder then
// notices the revocation at its next renewal, within about a third of its ttl. With
// [Mutex.NoRenew] it notices it at the next Extend, CheckHeld or EnsureHeld. A lease of
// this Client is over when Revoke returns.
//
// Errors: [ErrName], [ErrTenure], [ErrClosed], a [driver.ServerError], and an error for a bad
// tenure or reason. After [ErrUnreachable] or the error of ctx, Redis may execute the
// revocation up to two seconds later: call Revoke again. A Client of a quorum cannot
// revoke.
func (c *Client) Revoke(ctx context.Context, name, tenure, reason string) (notified int, err error) {
	a, err := c.order(ctx, script.Revoke, "Revoke", name, tenure, reason)
	return int(a.Notified), err
}

// Steal takes a name from its holder at once and gives it to the first waiter.
// [Mutex.Steal] gives it to the caller. For a [Semaphore] or an [RWMutex], it ends one
// lease.
//
// TWO PROCESSES CAN BELIEVE THAT THEY HOLD THE NAME until the old holder notices the
// loss. The old lease ends with [ErrLost], cause [Stolen]. It usually ends at once,
// otherwise at its next renewal, or at its deadline if Redis is unreachable. Use Steal
// only if the holder is dead, or if the resource checks tokens. Otherwise use
// [Client.Revoke].
//
// Arguments and errors are those of Revoke. If several tenures of a name are stolen
// within one ttl, only the newest is certain to read the reason. The others may see
// cause [Taken] or [Gone].
func (c *Client) Steal(ctx context.Context, name, tenure, reason string) error {
	_, err := c.order(ctx, script.Steal, "Steal", name, tenure, reason)
	return err
}

var (
	errNoReason = errors.New("a reason is required: the holder reads it")
	errNoHash   = errors.New("a tenure is given by its hash, ten hexadecimal digits, as Inspect and 'holdfast show' give it")
)

// order is one that was looked up: who is meant.
type order struct {
	name, tenure, reason string
	keys                 *keyspace.Keys
	suffix               string
	until                clock.Instant
	id                   string
	other                *wire.Answer // the name is of a shared kind, and id is to be found yet
}

// order looks who holds a name, compares, and runs the script, which compares
// the whole id.
func (c *core) order(ctx context.Context, s *driver.Script, what, name, tenure, reason string) (wire.Answer, error) {
	o, err := c.meant(ctx, what, name, tenure, reason)
	if err != nil {
		return wire.Answer{}, err
	}
	if o.other != nil {
		return c.orderShared(ctx, o.until, s, name, o.tenure, o.keys, o.suffix, o.reason)
	}
	call := driver.Call{Script: s, Keys: []string{o.keys.Lock(), o.keys.Revocation()}, Args: []string{o.id, o.suffix, o.reason}}
	if s == script.Steal {
		call.Keys = o.keys.WithRevocation()
	}
	return c.give(ctx, o.until, name, o.tenure, call)
}

// meant looks who holds a name, and compares the hash.
func (c *core) meant(ctx context.Context, what, name, tenure, reason string) (*order, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reason, tenure = wire.CleanReason(reason), strings.ToLower(tenure)
	k, err := c.openKeys(name)
	switch {
	case err != nil:
		return nil, err
	case c.quorum != nil:
		return nil, notOnQuorum(name, what)
	case len(tenure) != len(keyspace.HashID("")) || strings.Trim(tenure, "0123456789abcdef") != "":
		return nil, wire.Failure(name, nil, errNoHash)
	case reason == "":
		return nil, wire.Failure(name, nil, errNoReason)
	}
	o := &order{name: name, tenure: tenure, reason: reason, keys: k, suffix: c.shardOf(k), until: c.clock.Now().Add(c.options.patience())}
	reply, _, err := c.calls.Until(ctx, o.until, name, driver.Call{Script: script.Inspect, Keys: k[:], Args: []string{"1", o.suffix}})
	if err != nil {
		return nil, err
	}
	if len(reply) > 0 && reply[0] == "other kind" {
		a, err := wire.DecodeAnswer(reply)
		if err != nil {
			return nil, wire.Failure(name, nil, err)
		}
		o.other = &a
		return o, nil
	}
	state, err := c.decodeState(name, reply)
	if err != nil {
		return nil, wire.Failure(name, nil, err)
	}
	o.id = reply[2]
	if _, ours := keyspace.ParseID(o.id); state.Holder == nil || state.Holder.Hash != tenure || !ours {
		return nil, &TenureError{name, tenure, state.Holder}
	}
	return o, nil
}

// orderShared is order for one holder of a shared kind.
func (c *core) orderShared(ctx context.Context, until clock.Instant, s *driver.Script, name, tenure string, k *keyspace.Keys, suffix, reason string) (wire.Answer, error) {
	var state *State
	for _, most := range []int{1000, 1 << 20} { // most often the first finds it
		reply, _, err := c.calls.Until(ctx, until, name, driver.Call{Script: script.SharedInspect, Keys: k.WithHolders(), Args: []string{itoa(int64(most)), suffix}})
		if err != nil {
			return wire.Answer{}, err
		}
		if state, err = c.decodeShared(name, reply); err != nil {
			return wire.Answer{}, wire.Failure(name, nil, err)
		}
		for i, h := range state.Holders {
			if h.Hash != tenure {
				continue
			}
			id := reply[sharedHead+2*i]
			call := driver.Call{Script: script.SharedSteal, Keys: append(k.WithHolders(), k.RevocationOf(id)), Args: []string{id, suffix, reason}}
			if s == script.Revoke {
				call.Script, call.Keys = script.SharedRevoke, []string{k.Lock(), call.Keys[3], call.Keys[4]}
			}
			return c.give(ctx, until, name, tenure, call)
		}
		if state.Holding <= len(state.Holders) {
			break
		}
	}
	return wire.Answer{}, &TenureError{name, tenure, state.Holder}
}

// give gives an order until it was carried out or refused.
func (c *core) give(ctx context.Context, until clock.Instant, name, tenure string, call driver.Call) (wire.Answer, error) {
	for {
		reply, _, err := c.calls.Until(ctx, until, name, call)
		if err != nil {
			return wire.Answer{}, err
		}
		a, err := wire.DecodeAnswer(reply)
		if err != nil {
			return wire.Answer{}, wire.Failure(name, nil, err)
		}
		switch a.Word {
		case "told", "taken":
			if a.Refused != "" {
				c.mu.Lock()
				c.refusedToPublish(a.Refused, c.clock.Now())
				c.unlock()
			}
			c.orderedHere(ctx, call.Args[0], a.Word == "taken", call.Args[2])
			return a, nil
		case "not held":
			e := &TenureError{Name: name, Tenure: tenure}
			if a.Holder != "" {
				e.Holder = c.holder(a.Holder, 0, 0)
			}
			return wire.Answer{}, e
		case "again":
		default:
			return wire.Answer{}, wire.Failure(name, nil, fmt.Errorf("%s was answered %q", call.Script.Name, a.Word))
		}
	}
}

// orderedHere is what an answered order means to a tenure of this very Client. What was
// stolen is over: Redis has just said so. What was revoked is renewed at once, for that
// renewal prolongs L a last time, and its answer is waited for.
func (c *core) orderedHere(ctx context.Context, id string, stolen bool, reason string) {
	c.mu.Lock()
	t, now := c.tenures[id], c.clock.Exact()
	if t == nil {
		t = c.formerly[id] // its part was made smaller, which Redis did not know when it was asked who holds
	}
	switch {
	case t == nil || c.closed:
	case stolen:
		t.stolen(reason, now)
	case t.phase != holding:
		t.doubted = now
	case !t.isOver(now):
		answered := make(chan error, 1)
		r := t.line.asksApart(t, now)
		r.asked = answered
		c.unlock()
		_ = c.outcome(ctx, r, answered) // else the holder hears of it by its next renewal
		return
	}
	c.unlock()
}

// stolen: Redis has said that nobody has the name by this id any more.
func (t *tenure) stolen(reason string, now clock.Instant) {
	if t.phase != holding {
		t.doubted = now
		return
	}
	t.line.lose(t, wire.Answer{Word: "stolen", Reason: reason}, now)
	t.line.step(now)
}

// ordered: a push says that something was ordered of a tenure of ours. Anybody
// may publish, so Redis is asked, by a renewal that is sent after it.
func (l *line) ordered(t *tenure, now clock.Instant) {
	if t.phase != holding {
		t.doubted = now
		return
	}
	l.renew(t, now)
	l.step(now)
}

// Revoked reports whether [Client.Revoke] or [Client.Steal] ended the lease, and
// returns the given reason. It does not wait. After a revocation the name stays held
// until Release, at most for one ttl.
func (l *Lease) Revoked() (reason string, ok bool) {
	var lost *LostError
	if !errors.As(l.Err(), &lost) || lost.Cause != Revoked && lost.Cause != Stolen {
		return "", false
	}
	return lost.Reason, true
}

// notOnQuorum: a Client of a quorum can't do this.
func notOnQuorum(name, what string) error {
	return wire.Failure(name, nil, fmt.Errorf("%s does not work on a quorum, only on one master, behind Sentinel or in a Cluster", what))
}
