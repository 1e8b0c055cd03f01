package admin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// revocation is a tenure that Revoke or Steal ends, and why.
type revocation struct {
	caller       *call.Caller
	own          string // hash of a Client, or empty
	name, tenure string
	reason       string
	k            *keyspace.Keys
	until        clock.Instant
	id           string // of the tenure
	shared       bool   // the tenure is of a shared kind
}

func (r *revocation) args() []string { return []string{r.id, shardOf(r.caller.Store, r.k), r.reason} }

// newRevocation checks the arguments and finds the id of the tenure.
func newRevocation(ctx context.Context, caller *call.Caller, o *Options, own, name, tenure, reason string) (*revocation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, err := keysOf(o.Prefix, name)
	if err != nil {
		return nil, err
	}
	if tenure, reason, err = wire.Revocation(tenure, reason); err != nil {
		return nil, refused(name, err)
	}
	r := &revocation{caller: caller, own: own, name: name, tenure: tenure, reason: reason, k: k, until: caller.Clock.Now().Add(o.Timeout)}
	state, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	if r.id == "" {
		return nil, tenureError(name, tenure, state.Holder)
	}
	return r, nil
}

// find looks for the id of the tenure among the holders.
func (r *revocation) find(ctx context.Context) (*State, error) {
	c := driver.Call{Script: script.Inspect, Keys: r.k[:], Args: []string{"1", shardOf(r.caller.Store, r.k)}}
	for most := 1000; ; {
		reply, err := r.eval(ctx, c)
		if err != nil {
			return nil, err
		}
		if len(reply) > 0 && reply[0] == "other kind" && !r.shared {
			r.shared = true
			c = driver.Call{Script: script.SharedInspect, Keys: r.k.WithHolders(), Args: []string{strconv.Itoa(most), shardOf(r.caller.Store, r.k)}}
			continue
		}
		w, err := wire.DecodeState(reply)
		if err != nil {
			return nil, refused(r.name, err)
		}
		if w.Version > 0 {
			return nil, refused(r.name, &wire.VersionError{Version: w.Version})
		}
		r.id = w.Tenure(r.tenure)
		if r.id != "" || w.Holding <= int64(len(w.Holders)) || most > 1000 {
			return newState(r.name, r.own, w), nil
		}
		most = 1 << 20                                   // most often the first thousand has it
		c.Args = []string{strconv.Itoa(most), c.Args[1]} // an attempt that was left may still read the others
	}
}

// run runs the script of the revocation until it has an answer that is not "again". All
// of them may run twice.
func (r *revocation) run(ctx context.Context, c driver.Call) (notified int, err error) {
	for {
		reply, err := r.eval(ctx, c)
		if err != nil {
			return 0, err
		}
		answer, err := wire.DecodeAnswer(reply)
		if err != nil {
			return 0, refused(r.name, err)
		}
		switch answer.Word {
		case wire.Notified, wire.Taken:
			return int(answer.Notified), nil
		case wire.NotHeld:
			var h *Holder
			if answer.Holder != "" {
				h = newHolder(answer.Holder, r.own)
			}
			return 0, tenureError(r.name, r.tenure, h)
		case wire.Again:
		default:
			return 0, refused(r.name, fmt.Errorf("%s was answered %q", c.Script.Name, answer.Word))
		}
	}
}

func (r *revocation) eval(ctx context.Context, c driver.Call) ([]string, error) {
	reply, _, err := r.caller.Until(ctx, r.until, r.name, c)
	return reply, err
}

func tenureError(name, tenure string, h *Holder) error {
	e := &holdfast.TenureError{Name: name, Tenure: tenure, Free: h == nil}
	if h != nil {
		e.Owner, e.Hash, e.Foreign, e.Cooldown, e.Remaining = h.Owner, h.Hash, h.Foreign, h.Cooldown, h.Remaining
	}
	return e
}
