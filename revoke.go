package holdfast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrTenure means that the tenure that was meant does not hold the name, or not any more.
// A *TenureError says who does.
var ErrTenure = errors.New("holdfast: not the holder")

// TenureError says who has a name that a Revoke or Steal meant another tenure of.
// Nothing was done.
type TenureError struct {
	Name   string
	Tenure string  // the hash that was asked for
	Holder *Holder // who has it, as far as known; nil: nobody. where it is in Cooldown nobody holds it, either
}

func (e *TenureError) Error() string {
	h := e.Holder
	switch {
	case h == nil:
		return fmt.Sprintf("holdfast: %s is not held by tenure %s: it is free", e.Name, e.Tenure)
	case h.Cooldown:
		text := fmt.Sprintf("holdfast: %s is not held by tenure %s: nobody holds it, and nobody gets it until MinHold has passed after the hold of %s", e.Name, e.Tenure, given(h.Owner, "another"))
		if h.Remaining > 0 {
			text += fmt.Sprintf(", in %v", h.Remaining.Round(time.Millisecond))
		}
		return text
	case h.Hash == e.Tenure:
		return fmt.Sprintf("holdfast: %s is held by what is no tenure of holdfast, and nobody there could be told", e.Name)
	case h.Foreign:
		return fmt.Sprintf("holdfast: %s is not held by tenure %s, but by a client of another library", e.Name, e.Tenure)
	}
	return fmt.Sprintf("holdfast: %s is not held by tenure %s, but by %s of %s", e.Name, e.Tenure, h.Hash, given(h.Owner, "another"))
}

// Unwrap makes errors.Is(err, ErrTenure) true.
func (e *TenureError) Unwrap() error { return ErrTenure }

// Revoke asks the holder of a name to stop. Its lease ends with ErrLost, cause
// Revoked, and the reason; the name is not given on before the holder's Release,
// or before it has had a whole ttl to stop. Who waits in its process stands in
// line anew. A holder that does not answer, or does not stop, keeps the name
// until its ttl ends: Steal does not wait for it. A lease with Mutex.NoRenew gets no further ttl:
// its holder has what is left of its time, a ttl at most. If its process does not hear of the Revoke, or
// is dead, the lease keeps the name for all the time that Extend gave it. For a Semaphore or an RWMutex,
// Revoke asks one holder, and the others keep theirs. A lease of this very Client is over when
// Revoke or Steal returns.
//
// tenure is the hash of the tenure that is meant, as Inspect gives it. If that
// does not hold the name any more the error is ErrTenure, and nobody is asked to
// stop. reason is for people; the holder reads its first 200 bytes, without what
// can't be printed. notified is how many subscriptions were told at once: 1, or 0
// where the holder does not listen, because nobody of its process ever waited and it has
// not held for a second yet, or is in a Cluster. Then it learns of it by its next renewal,
// within about a third of its ttl; one with Mutex.NoRenew only when it calls Extend, CheckHeld or EnsureHeld.
//
// Other errors: ErrName, ErrUnreachable or that of ctx (nobody knows whether it was
// asked, or will be within two seconds; ask again), ErrClosed, a ServerError, and those of a reason or hash that is
// none. A Client of a quorum can't. It costs two round trips: a look, and the order; of a
// Semaphore or an RWMutex one or two more, to find the holder, and of a lease of this very
// Client one more.
func (c *Client) Revoke(ctx context.Context, name, tenure, reason string) (notified int, err error) {
	a, err := c.order(ctx, scriptRevoke, "Revoke", name, tenure, reason)
	return int(a.told), err
}

// Steal takes a name from its holder at once, or of a Semaphore or an RWMutex its part
// from one of the holders, and gives it to those who wait, if there are any. Mutex.Steal
// gives it to the caller instead. The holder's lease ends with ErrLost, cause Stolen, and the
// reason, when it hears of it: at once as a rule, by its next renewal if it can
// not be told, by its deadline if it can not ask. UNTIL THEN TWO BELIEVE THAT
// THEY HOLD THE NAME: it is for a holder that is known to be stuck or dead, and
// for resources that check the token. Revoke is the safe way.
//
// Name, tenure, reason, errors and cost are those of Revoke. Of several tenures that
// are stolen one after the other within a ttl, only the newest is sure to read
// the reason; for the others the cause may be Taken or Gone. Of a Semaphore or an
// RWMutex each does.
func (c *Client) Steal(ctx context.Context, name, tenure, reason string) error {
	_, err := c.order(ctx, scriptSteal, "Steal", name, tenure, reason)
	return err
}

var (
	errNoReason = errors.New("a reason is needed: the holder that loses the name reads it")
	errNoHash   = errors.New("a tenure is named by its hash: ten digits or letters from a to f, as Inspect and holdfast show give it")
)

// order is one that was looked up: who is meant.
type order struct {
	name, tenure, reason string
	keys                 *keys
	suffix               string
	until                instant
	id                   string
	other                *answer // the name is of a shared kind, and id is to be found yet
}

// order looks who holds a name, compares, and runs the script, which compares
// the whole id.
func (c *core) order(ctx context.Context, s *Script, what, name, tenure, reason string) (answer, error) {
	o, err := c.meant(ctx, what, name, tenure, reason)
	if err != nil {
		return answer{}, err
	}
	if o.other != nil {
		return c.orderShared(ctx, o.until, s, name, o.tenure, o.keys, o.suffix, o.reason)
	}
	call := Call{s, []string{o.keys.lock(), o.keys.order()}, []string{o.id, o.suffix, o.reason}}
	if s == scriptSteal {
		call.Keys = o.keys.withOrder()
	}
	return c.give(ctx, o.until, name, o.tenure, call)
}

// meant looks who holds a name, and compares the hash.
func (c *core) meant(ctx context.Context, what, name, tenure, reason string) (*order, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reason, tenure = cleanReason(reason), strings.ToLower(tenure)
	k, err := c.openKeys(name)
	switch {
	case err != nil:
		return nil, err
	case c.quorum != nil:
		return nil, notOnQuorum(name, what)
	case len(tenure) != len(hashID("")) || strings.Trim(tenure, "0123456789abcdef") != "":
		return nil, &storeError{name, nil, errNoHash}
	case reason == "":
		return nil, &storeError{name, nil, errNoReason}
	}
	o := &order{name: name, tenure: tenure, reason: reason, keys: k, suffix: c.shardOf(k), until: c.clock.now().add(c.options.patience())}
	reply, err := c.evalUntil(ctx, o.until, name, Call{scriptInspect, k[:], []string{"1", o.suffix}})
	if err != nil {
		return nil, err
	}
	if len(reply) > 0 && reply[0] == "other kind" {
		a, err := decodeAnswer(reply)
		if err != nil {
			return nil, &storeError{name, nil, err}
		}
		o.other = &a
		return o, nil
	}
	state, err := c.decodeState(name, reply)
	if err != nil {
		return nil, &storeError{name, nil, err}
	}
	o.id = reply[2]
	if _, ours := parseID(o.id); state.Holder == nil || state.Holder.Hash != tenure || !ours {
		return nil, &TenureError{name, tenure, state.Holder}
	}
	return o, nil
}

// orderShared is order for one holder of a shared kind.
func (c *core) orderShared(ctx context.Context, until instant, s *Script, name, tenure string, k *keys, suffix, reason string) (answer, error) {
	var state *State
	for _, most := range []int{1000, 1 << 20} { // most often the first finds it
		reply, err := c.evalUntil(ctx, until, name, Call{scriptSharedInspect, k.withHolders(), []string{itoa(int64(most)), suffix}})
		if err != nil {
			return answer{}, err
		}
		if state, err = c.decodeShared(name, reply); err != nil {
			return answer{}, &storeError{name, nil, err}
		}
		for i, h := range state.Holders {
			if h.Hash != tenure {
				continue
			}
			id := reply[sharedHead+2*i]
			call := Call{scriptSharedSteal, append(k.withHolders(), k.orderOf(id)), []string{id, suffix, reason}}
			if s == scriptRevoke {
				call.Script, call.Keys = scriptSharedRevoke, []string{k.lock(), call.Keys[3], call.Keys[4]}
			}
			return c.give(ctx, until, name, tenure, call)
		}
		if state.Holding <= len(state.Holders) {
			break
		}
	}
	return answer{}, &TenureError{name, tenure, state.Holder}
}

// give gives an order until it was carried out or refused.
func (c *core) give(ctx context.Context, until instant, name, tenure string, call Call) (answer, error) {
	for {
		reply, err := c.evalUntil(ctx, until, name, call)
		if err != nil {
			return answer{}, err
		}
		a, err := decodeAnswer(reply)
		if err != nil {
			return answer{}, &storeError{name, nil, err}
		}
		switch a.word {
		case "told", "taken":
			if a.refused != "" {
				c.mu.Lock()
				c.refusedToPublish(a.refused, c.clock.now())
				c.unlock()
			}
			c.orderedHere(ctx, call.Args[0], a.word == "taken", call.Args[2])
			return a, nil
		case "not held":
			e := &TenureError{Name: name, Tenure: tenure}
			if a.holder != "" {
				e.Holder = c.holder(a.holder, 0, 0)
			}
			return answer{}, e
		case "again":
		default:
			return answer{}, &storeError{name, nil, fmt.Errorf("%s was answered %q", call.Script.Name, a.word)}
		}
	}
}

// orderedHere is what an answered order means to a tenure of this very Client. What was
// stolen is over: Redis has just said so. What was revoked is renewed at once, for that
// renewal prolongs L a last time, and its answer is waited for.
func (c *core) orderedHere(ctx context.Context, id string, stolen bool, reason string) {
	c.mu.Lock()
	t, now := c.tenures[id], c.clock.look()
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
func (t *tenure) stolen(reason string, now instant) {
	if t.phase != holding {
		t.doubted = now
		return
	}
	t.line.lose(t, answer{word: "stolen", reason: reason}, now)
	t.line.step(now)
}

// evalUntil runs a script that stays right when it runs twice, again while it is
// not answered or refused for a reason that passes.
func (c *core) evalUntil(callers context.Context, until instant, name string, call Call) ([]string, error) {
	reply, _, err := c.evalSent(callers, until, name, call)
	return reply, err
}

// evalSent is evalUntil, and tells when the request that was answered was sent.
func (c *core) evalSent(callers context.Context, until instant, name string, call Call) (reply []string, sent instant, err error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		sent = c.clock.look()
		attempt := min(until.sub(sent), c.options.attempt())
		ctx, cancel := context.WithTimeout(callers, max(attempt, time.Millisecond))
		reply, err = c.evalBounded(ctx, call)
		cancel()
		switch {
		case err == nil:
			return reply, sent, nil
		case callers.Err() != nil:
			return nil, 0, callers.Err()
		}
		if said, ok := asServerError(err); ok {
			err = explain(said, call.Keys[0])
		}
		if !passing(err) {
			return nil, 0, &storeError{name, nil, err}
		}
		if c.clock.now().add(wait) >= until {
			return nil, 0, &storeError{name, ErrUnreachable, notTheCallers(err)}
		}
		select {
		case <-time.After(wait):
		case <-callers.Done():
			return nil, 0, callers.Err()
		case <-c.stopped:
		}
		if c.isClosed() {
			return nil, 0, ErrClosed
		}
	}
}

const maxReason = 200 // bytes

// cleanReason makes a reason that is safe to read and not too long.
func cleanReason(s string) string { return cleanText(s, maxReason) }

// ordered: a push says that something was ordered of a tenure of ours. Anybody
// may publish, so Redis is asked, by a renewal that is sent after it.
func (l *line) ordered(t *tenure, now instant) {
	if t.phase != holding {
		t.doubted = now
		return
	}
	l.renew(t, now)
	l.step(now)
}

// Revoked reports whether the lease ended because of Client.Revoke, or of
// Client.Steal, and the reason that was given. It is a look at what Err says,
// not a wait: Done is closed then, and the contexts have ended. After a Revoke the
// name is nobody else's until Release, for a ttl at most, so there is time to stop.
func (l *Lease) Revoked() (reason string, ok bool) {
	var lost *LostError
	if !errors.As(l.Err(), &lost) || lost.Cause != Revoked && lost.Cause != Stolen {
		return "", false
	}
	return lost.Reason, true
}

// notOnQuorum: a Client of a quorum can't do this.
func notOnQuorum(name, what string) error {
	return &storeError{name, nil, fmt.Errorf("%s does not work on a quorum: it is for names on one master, behind Sentinel or in a Cluster", what)}
}
