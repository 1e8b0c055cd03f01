package holdfast

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// recorder is a host that keeps what it was asked to do.
type recorder struct {
	sent      []*request
	outcomes  map[*waiter]outcome
	answers   map[any]error
	dones     map[any]bool
	ends      map[*turn]bool
	events    []event
	warnings  []string
	listening map[*subscriber]bool
	details   int
}

// newTestProcess is a process with a recorder. It has a queue, and chance that repeats itself.
func newTestProcess(s settings) (*process, *recorder) {
	if s.ttl == 0 {
		s.ttl = 15 * time.Second
	}
	if s.prefix == "" {
		s.prefix = "holdfast:"
	}
	s.queue, s.events = true, true
	if s.sendsOnce == nil {
		s.sendsOnce = func() bool { return false }
	}
	h := &recorder{
		outcomes: map[*waiter]outcome{}, answers: map[any]error{}, dones: map[any]bool{},
		ends: map[*turn]bool{}, listening: map[*subscriber]bool{},
	}
	return newProcess(s, h, rand.New(rand.NewPCG(1, 2)).Uint64), h
}

func (h *recorder) send(r *request)                { h.sent = append(h.sent, r) }
func (h *recorder) notBefore(string) clock.Instant { return 0 }
func (h *recorder) deliver(w *waiter, o outcome)   { h.outcomes[w] = o }
func (h *recorder) answer(about any, err error)    { h.answers[about] = err }
func (h *recorder) done(what any)                  { h.dones[what] = true }
func (h *recorder) ended(u *turn)                  { h.ends[u] = true }
func (h *recorder) note(e event)                   { h.events = append(h.events, e) }
func (h *recorder) warn(message string, _ ...any)  { h.warnings = append(h.warnings, message) }
func (h *recorder) listen(s *subscriber, _ bool)   { h.listening[s] = true }
func (h *recorder) unlisten(s *subscriber)         { delete(h.listening, s) }
func (h *recorder) showDetails()                   { h.details++ }
