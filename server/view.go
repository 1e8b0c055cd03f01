package server

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast"
)

// stateJSON is a name as it is shown, in the words of holdfast show -o json.
// Durations are in milliseconds; null means that there is none.
type stateJSON struct {
	Name    string       `json:"name"`
	Kind    string       `json:"kind"`
	State   string       `json:"state"`
	Held    bool         `json:"held"`
	Holder  *holderJSON  `json:"holder"`
	Tokens  int64        `json:"tokens_up_to"`
	Waiting int          `json:"waiting"`
	Waiters []waiterJSON `json:"waiters"`
	Reasons []reasonJSON `json:"reasons"`
	At      time.Time    `json:"at"`

	Size    int           `json:"size,omitempty"`
	Used    *int          `json:"used,omitempty"`
	Holding *int          `json:"holding,omitempty"`
	Holders []*holderJSON `json:"holders,omitempty"`

	Term    int64    `json:"term,omitempty"`
	LastRun *runJSON `json:"last_run,omitempty"`
}

type holderJSON struct {
	Owner       string `json:"owner"`
	Hash        string `json:"hash"`
	Foreign     bool   `json:"foreign"`
	Cooldown    bool   `json:"cooldown"`
	HeldMS      *int64 `json:"held_ms"`
	RemainingMS *int64 `json:"remaining_ms"`
	TTLMS       *int64 `json:"ttl_ms"`
	processJSON
	partJSON
}

type waiterJSON struct {
	Position  int    `json:"position"`
	Owner     string `json:"owner"`
	Hash      string `json:"hash"`
	WaitedMS  int64  `json:"waited_ms"`
	Listening bool   `json:"listening"`
	processJSON
	partJSON
}

// processJSON is the process behind a holder or waiter.
type processJSON struct {
	Client  string            `json:"client,omitempty"`
	Revoked string            `json:"revoked,omitempty"`
	Details *holdfast.Details `json:"details,omitempty"`
}

// reasonJSON is one thing to be said of how a name stands.
type reasonJSON struct {
	Code     holdfast.Code `json:"code"`
	Problem  bool          `json:"problem"`
	Sentence string        `json:"sentence"`
	Action   string        `json:"action"`
}

type partJSON struct {
	Permits int    `json:"permits,omitempty"`
	Mode    string `json:"mode,omitempty"`
}

type runJSON struct {
	Owner   string     `json:"owner"`
	Token   int64      `json:"token"`
	Began   time.Time  `json:"began"`
	Ended   *time.Time `json:"ended"`
	Outcome string     `json:"outcome"`
	Tick    *time.Time `json:"tick,omitempty"`
}

// look looks at a name; back: also at what is remembered of Once, which is left out where the store does
// not let us see it.
func (a *API) look(ctx context.Context, name string, back bool) (*stateJSON, error) {
	state, err := a.client.Inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	out := newStateJSON(state, state.Diagnose(nil))
	if back {
		run, err := a.client.LastRun(ctx, name)
		if err == nil {
			out.LastRun = newRunJSON(run)
		} else if !errors.Is(err, holdfast.ErrNeverRan) && ctx.Err() != nil {
			return nil, err
		}
	}
	return out, nil
}

func newStateJSON(s *holdfast.State, reasons []holdfast.Diagnosis) *stateJSON {
	out := &stateJSON{
		Name: s.Name, Kind: string(s.Kind), State: "free", Holder: newHolderJSON(s.Holder),
		Tokens: s.Token, Waiting: s.Waiting, Waiters: []waiterJSON{}, Reasons: []reasonJSON{}, At: s.At.UTC(), Term: s.Term,
	}
	if s.Term > 0 {
		out.Kind = "election"
	}
	for _, d := range reasons {
		out.Reasons = append(out.Reasons, reasonJSON{d.Code, d.Code.Problem(), d.Sentence, d.Action})
	}
	if h := s.Holder; h != nil {
		out.State, out.Held = "held", true
		if h.Cooldown {
			out.State, out.Held = "cool-down", false
		}
	}
	out.Size = s.Size
	if s.Kind != holdfast.KindMutex {
		out.Holding = new(s.Holding)
		if s.Kind == holdfast.KindSemaphore {
			out.Used = new(s.Used)
		}
		for i := range s.Holders {
			out.Holders = append(out.Holders, newHolderJSON(&s.Holders[i]))
		}
	}
	for i, w := range s.Waiters {
		out.Waiters = append(out.Waiters, waiterJSON{i, w.Owner, w.Hash, w.Waited.Milliseconds(), w.Listening, processJSON{w.Client, "", w.Details}, newPartJSON(w.Part)})
	}
	return out
}

func newHolderJSON(h *holdfast.Holder) *holderJSON {
	if h == nil {
		return nil
	}
	out := &holderJSON{Owner: h.Owner, Hash: h.Hash, Foreign: h.Foreign, Cooldown: h.Cooldown, processJSON: processJSON{h.Client, h.Revoked, h.Details}, partJSON: newPartJSON(h.Part)}
	if h.Held > 0 {
		out.HeldMS = new(h.Held.Milliseconds())
	}
	if h.Remaining >= 0 {
		out.RemainingMS = new(h.Remaining.Milliseconds())
	}
	if h.TTL > 0 {
		out.TTLMS = new(h.TTL.Milliseconds())
	}
	return out
}

func newPartJSON(p holdfast.Part) partJSON {
	switch {
	case p.Reads:
		return partJSON{Mode: "read"}
	case p.Writes:
		return partJSON{Mode: "write"}
	}
	return partJSON{Permits: p.Permits}
}

func newRunJSON(r *holdfast.Run) *runJSON {
	out := &runJSON{Owner: r.Owner, Token: r.Token, Began: r.Began.UTC(), Outcome: r.Outcome}
	if !r.Ended.IsZero() {
		out.Ended = new(r.Ended.UTC())
	}
	if !r.Tick.IsZero() {
		out.Tick = new(r.Tick.UTC())
	}
	return out
}
