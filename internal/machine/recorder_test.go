package machine

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// recorder is a host that keeps what it was asked to do.
type recorder struct {
	sent      []*Request
	outcomes  map[*LocalWaiter]Outcome
	answers   map[any]error
	dones     map[any]bool
	ends      map[*Turn]bool
	events    []Event
	warnings  []string
	listening map[*Subscriber]bool
	details   int
	notBefore clock.Instant
}

// newTestClient is a Client with a recorder. It has a queue, and chance that repeats itself.
func newTestClient(s Settings) (*Client, *recorder) {
	s.Queue = true
	return newQuorumClient(s)
}

// newQuorumClient is one without a queue.
func newQuorumClient(s Settings) (*Client, *recorder) {
	if s.TTL == 0 {
		s.TTL = 15 * time.Second
	}
	if s.Prefix == "" {
		s.Prefix = "holdfast:"
	}
	s.Events = true
	if s.SendsOnce == nil {
		s.SendsOnce = func() bool { return false }
	}
	h := &recorder{
		outcomes: map[*LocalWaiter]Outcome{}, answers: map[any]error{}, dones: map[any]bool{},
		ends: map[*Turn]bool{}, listening: map[*Subscriber]bool{},
	}
	c := New(s, h, rand.New(rand.NewPCG(1, 2)).Uint64)
	if !c.Queue {
		c.NotBefore = func(string) clock.Instant { return h.notBefore }
	}
	return c, h
}

func (h *recorder) Send(r *Request)                   { h.sent = append(h.sent, r) }
func (h *recorder) Deliver(w *LocalWaiter, o Outcome) { h.outcomes[w] = o }
func (h *recorder) Answer(about any, err error)       { h.answers[about] = err }
func (h *recorder) Done(what any)                     { h.dones[what] = true }
func (h *recorder) Ended(u *Turn)                     { h.ends[u] = true }
func (h *recorder) Note(e Event)                      { h.events = append(h.events, e) }
func (h *recorder) Warn(message string, _ ...any)     { h.warnings = append(h.warnings, message) }
func (h *recorder) Listen(s *Subscriber, _ bool)      { h.listening[s] = true }
func (h *recorder) Unlisten(s *Subscriber)            { delete(h.listening, s) }
func (h *recorder) ShowDetails()                      { h.details++ }
