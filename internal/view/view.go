// Package view shows the state of a name, or of a lease, to people and programs: as the JSON
// that the HTTP API and the commands have in common, whose fields are promised,
// and as text without characters that a terminal or a browser would act on.
package view

import (
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// State is a name as GET /v1/locks/NAME and "holdfast show -o json" show it.
// Durations are in milliseconds; null means that there is none.
type State struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`
	State   string    `json:"state"`
	Held    bool      `json:"held"`
	Holder  *Holder   `json:"holder"`
	Tokens  int64     `json:"tokens_up_to"`
	Waiting int       `json:"waiting"`
	Waiters []Waiter  `json:"waiters"`
	Reasons []Reason  `json:"reasons"`
	At      time.Time `json:"at"`

	Size    int       `json:"size,omitempty"`
	Used    *int      `json:"used,omitempty"`
	Holding *int      `json:"holding,omitempty"`
	Holders []*Holder `json:"holders,omitempty"`

	Version int   `json:"version,omitempty"`
	Term    int64 `json:"term,omitempty"`
	LastRun *Run  `json:"last_run,omitempty"`
}

// Holder is a holder of a name, or in cool-down the last one.
type Holder struct {
	Owner       string `json:"owner"`
	Hash        string `json:"hash"`
	Foreign     bool   `json:"foreign"`
	Cooldown    bool   `json:"cooldown"`
	HeldMS      *int64 `json:"held_ms"`
	RemainingMS *int64 `json:"remaining_ms"`
	TTLMS       *int64 `json:"ttl_ms"`
	Process
	Part
}

// Waiter is a process in the queue of a name.
type Waiter struct {
	Position  int    `json:"position"`
	Owner     string `json:"owner"`
	Hash      string `json:"hash"`
	WaitedMS  int64  `json:"waited_ms"`
	Listening bool   `json:"listening"`
	Process
	Part
}

// Process is the process behind a holder or a waiter.
type Process struct {
	Client  string   `json:"client,omitempty"`
	Revoked string   `json:"revoked,omitempty"`
	Details *Details `json:"details,omitempty"`
}

// Details are what a process stores about itself.
type Details struct {
	holdfast.Details
	ExpectMS int64 `json:"expect_ms,omitempty"`
}

func newDetails(d *holdfast.Details) *Details {
	if d == nil {
		return nil
	}
	return &Details{*d, d.Expect.Milliseconds()}
}

// Part is what a holder has, or a waiter wants, of a shared kind.
type Part struct {
	Permits int    `json:"permits,omitempty"`
	Mode    string `json:"mode,omitempty"`
}

// Reason is one finding about a name.
type Reason struct {
	Code     diagnose.Code `json:"code"`
	Problem  bool          `json:"problem"`
	Sentence string        `json:"sentence"`
	Action   string        `json:"action"`
}

// Run is what is remembered of a call of Once.
type Run struct {
	Owner   string     `json:"owner"`
	Token   int64      `json:"token"`
	Began   time.Time  `json:"began"`
	Ended   *time.Time `json:"ended"`
	Outcome string     `json:"outcome"`
	Tick    *time.Time `json:"tick,omitempty"`
}

// Lease is a lease without a process, as POST /v1/leases and "holdfast acquire -o json" show
// it. Text renews and releases it: it is shown only where the lease is new.
type Lease struct {
	Text        string     `json:"lease,omitempty"`
	Name        string     `json:"name"`
	Token       int64      `json:"token"`
	Owner       string     `json:"owner"`
	Hash        string     `json:"hash"`
	TTLMS       int64      `json:"ttl_ms"`
	RemainingMS int64      `json:"remaining_ms"`
	Deadline    *time.Time `json:"deadline"`
	Waiting     int        `json:"waiting"`
}

// NewLease shows a lease that stands, with its text or "".
func NewLease(text string, h *holdfast.ExportedHold) Lease {
	return Lease{
		Text: text, Name: h.Name, Token: h.Token, Owner: h.Owner, Hash: h.Hash,
		TTLMS: h.TTL.Milliseconds(), RemainingMS: h.Remaining.Milliseconds(),
		Deadline: new(time.Now().Add(h.Remaining).UTC().Truncate(time.Millisecond)), Waiting: h.Waiting,
	}
}

// MaxNames is the largest number of names that a server surveys. More would need more
// memory than deploy/kubernetes allows.
const MaxNames = 20_000

// NewState shows a state and what was found out about it. The last run is added
// by its reader, because it is stored under another key.
func NewState(s *admin.State, reasons []diagnose.Diagnosis) *State {
	name := StateName(s.Holder)
	out := &State{
		Name: s.Name, Kind: KindName(s), State: name, Held: name == "held", Holder: NewHolder(s.Holder),
		Tokens: s.Token, Waiting: s.Waiting, Waiters: []Waiter{}, Reasons: []Reason{}, At: s.At.UTC(), Size: s.Size, Version: s.Version, Term: s.Term,
	}
	for _, d := range reasons {
		out.Reasons = append(out.Reasons, Reason{d.Code, d.Code.Problem(), d.Sentence, d.Action})
	}
	if s.Kind == holdfast.KindSemaphore {
		out.Used = new(s.Used)
	}
	if s.Kind != holdfast.KindMutex {
		out.Holding = new(s.Holding)
		for i := range s.Holders {
			out.Holders = append(out.Holders, NewHolder(&s.Holders[i]))
		}
	}
	for i, w := range s.Waiters {
		out.Waiters = append(out.Waiters, Waiter{i, w.Owner, w.Hash, w.Waited.Milliseconds(), w.Listening, Process{w.Client, "", newDetails(w.Details)}, newPart(w.Part)})
	}
	return out
}

// NewHolder shows a holder; nil shows as null.
func NewHolder(h *admin.Holder) *Holder {
	if h == nil {
		return nil
	}
	out := &Holder{Owner: h.Owner, Hash: h.Hash, Foreign: h.Foreign, Cooldown: h.Cooldown, Process: Process{h.Client, h.Revoked, newDetails(h.Details)}, Part: newPart(h.Part)}
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

func newPart(p admin.Part) Part {
	switch {
	case p.Reads:
		return Part{Mode: "read"}
	case p.Writes:
		return Part{Mode: "write"}
	}
	return Part{Permits: p.Permits}
}

// NewRun shows the last run; nil, of a name that never ran, shows as null.
func NewRun(r *holdfast.Run) *Run {
	if r == nil {
		return nil
	}
	out := &Run{Owner: r.Owner, Token: r.Token, Began: r.Began.UTC(), Outcome: r.Outcome}
	if !r.Ended.IsZero() {
		out.Ended = new(r.Ended.UTC())
	}
	if !r.Tick.IsZero() {
		out.Tick = new(r.Tick.UTC())
	}
	return out
}

// KindName is the kind of a name; an election is one whose leader has announced its term.
func KindName(s *admin.State) string {
	if s.Term > 0 {
		return "election"
	}
	return string(s.Kind)
}

// StateName is "free", "held" or "cool-down".
func StateName(h *admin.Holder) string {
	switch {
	case h == nil:
		return "free"
	case h.Cooldown:
		return "cool-down"
	}
	return "held"
}
