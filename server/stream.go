package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast"
)

const (
	quiet     = 10 * time.Second // the longest silence of a stream
	speak     = quiet - quiet/40 // after how much of it a line is sent: timers are late
	writeTime = 10 * time.Second // the longest that a client may not read

	shuttingDown = "the server is shutting down"
)

// stream answers a lease that lives as long as its connection, as server-sent
// events. Closing that gives it back, and so does the death of the client.
func (a *API) stream(w http.ResponseWriter, r *http.Request) {
	a.streams.Add(1)
	defer a.streams.Add(-1)
	v, _, p := a.wish(w, r, a.options.MaxStream)
	switch {
	case p != nil:
		p.write(w)
		return
	case a.closed():
		closingProblem(shuttingDown).write(w)
		return
	}
	leave, p := a.open.enter(who(r), "open streams")
	if p != nil {
		p.write(w)
		return
	}
	defer leave()
	s := &stream{api: a, w: w, c: http.NewResponseController(w), ctx: r.Context(), name: v.Name}
	lease := s.wait(v)
	if lease == nil {
		return
	}
	defer lease.Release() //nolint:errcheck // it is retried in the background
	s.keep(lease, v)
}

// stream is one connection.
type stream struct {
	api   *API
	until time.Time // what the client was told last: until then it may believe that it has the lease
	w     http.ResponseWriter
	c     *http.ResponseController
	ctx   context.Context // the request's
	name  string
	spoke time.Time // when something was last written
	begun bool      // the header is written
	ended bool      // it can't be written to
	stuck bool      // since the other side takes nothing, and not since it has closed
}

// granted is the first event of a lease, and renewed a later one.
type granted struct {
	Name      string `json:"name"`
	Token     int64  `json:"token"`
	Owner     string `json:"owner,omitempty"`
	TTLMS     int64  `json:"ttl_ms"`
	Remaining int64  `json:"remaining_ms"`
}

// over is the event of a lease that ends.
type over struct {
	Name    string         `json:"name"`
	Token   int64          `json:"token"`
	Cause   holdfast.Cause `json:"cause"`
	Reason  string         `json:"reason,omitempty"`
	GraceMS int64          `json:"grace_ms,omitempty"` // for closing the stream
}

// wait gets the lease; nil: it was told why not. A request that does not wait is
// answered by a status, one that does by events.
func (s *stream) wait(v *wish) *holdfast.Lease {
	ctx, leave, err := s.api.store.enter(s.ctx)
	if err != nil {
		problemOf(err).write(s.w)
		return nil
	}
	defer leave()
	if v.wait == 0 {
		lease, err := s.api.lock(ctx, v)
		if err != nil {
			problemOf(err).write(s.w)
			return nil
		}
		return lease
	}
	type outcome struct {
		lease *holdfast.Lease
		err   error
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	got := make(chan outcome, 1)
	go func() {
		lease, err := s.api.lock(ctx, v)
		got <- outcome{lease, err}
	}()
	s.event("waiting", map[string]string{"name": v.Name})
	closing, next := s.api.life.Done(), time.NewTimer(s.silence())
	defer next.Stop()
	for {
		select {
		case o := <-got:
			if o.err != nil {
				s.event("failed", problemOf(o.err).members())
				return nil
			}
			return o.lease
		case <-next.C:
			if s.comment(); s.ended {
				cancel(nil)
			}
			next.Reset(s.silence())
		case <-closing:
			closing = nil
			cancel(closingProblem(shuttingDown))
		}
	}
}

// keep tells how it goes with the lease until it ends or the connection does.
func (s *stream) keep(lease *holdfast.Lease, v *wish) {
	said := lease.Remaining()
	s.until = time.Now().Add(said)
	s.event("granted", granted{v.Name, lease.Token(), v.Owner, v.ttl.Milliseconds(), said.Milliseconds()})
	every := min(v.ttl/6, speak)
	next := time.NewTimer(every)
	defer next.Stop()
	defer s.linger(lease)
	for !s.ended {
		select {
		case <-s.ctx.Done():
			return
		case <-lease.Done():
			s.end(lease, v)
			return
		case <-s.api.life.Done():
			s.closes(lease, v)
			return
		case <-next.C:
			now, left := time.Now(), lease.Remaining()
			switch {
			case now.Add(left).Sub(s.until) > every/2:
				s.until = now.Add(left)
				s.event("renewed", granted{Name: v.Name, Token: lease.Token(), TTLMS: v.ttl.Milliseconds(), Remaining: left.Milliseconds()})
			case s.silence() <= 0:
				s.comment()
			}
			next.Reset(min(every, s.silence()))
		}
	}
}

// end tells of a lease that is over. What was revoked is nobody else's until it is
// released, so its client has half a ttl to stop and close. It may not have heard of that: so
// one that does not close keeps the name until the time is over that it was told last.
func (s *stream) end(lease *holdfast.Lease, v *wish) {
	var lost *holdfast.LostError
	if !errors.As(lease.Err(), &lost) {
		return
	}
	e := over{Name: v.Name, Token: lost.Token, Cause: lost.Cause, Reason: lost.Reason}
	if lost.Cause == holdfast.Revoked {
		grace := v.ttl / 2
		e.GraceMS = grace.Milliseconds()
		s.event("revoke-requested", e)
		e.GraceMS = 0
		if s.waitsFor(grace, nil) {
			return
		}
		if s.stuck || s.waitsFor(time.Until(s.until), s.api.life.Done()) { // it has not stopped, as far as we know
			return
		}
		_ = lease.Release() // before others hear that it is over
	}
	s.event("lost", e)
}

// closes lets a client stop that holds a lease while the server shuts down. The
// lease is kept up meanwhile.
func (s *stream) closes(lease *holdfast.Lease, v *wish) {
	grace := s.api.options.Grace
	e := over{Name: v.Name, Token: lease.Token(), Cause: holdfast.Closed, Reason: shuttingDown, GraceMS: grace.Milliseconds()}
	s.event("revoke-requested", e)
	if s.waitsFor(grace, lease.Done()) {
		return
	}
	_ = lease.Release()
	e.GraceMS = 0
	s.event("lost", e)
}

// waitsFor waits until the client has closed the stream; false: it has not.
func (s *stream) waitsFor(d time.Duration, sooner <-chan struct{}) (closed bool) {
	t, next := time.NewTimer(d), time.NewTimer(s.silence())
	defer t.Stop()
	defer next.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return true
		case <-next.C:
			s.comment()
			next.Reset(s.silence())
			continue
		case <-sooner:
		case <-t.C:
		}
		return s.ended
	}
}

// linger keeps the lease of a client that takes or confirms nothing until the time is over that it was
// told: it has not closed the stream, and may be cut off and at work.
func (s *stream) linger(lease *holdfast.Lease) {
	if !s.stuck && !fellSilent(s.ctx) {
		return
	}
	t := time.NewTimer(time.Until(s.until))
	defer t.Stop()
	over := lease.Done()
	for {
		select {
		case <-t.C:
		case <-s.api.life.Done():
		case <-over:
			var lost *holdfast.LostError
			if over = nil; errors.As(lease.Err(), &lost) && lost.Cause == holdfast.Revoked {
				continue // it is still the client's
			}
		}
		return
	}
}

func (s *stream) event(kind string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		text = []byte("{}")
	}
	s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", kind, text))
}

// comment shows the client, and us, that the other side is there.
func (s *stream) comment() { s.write(": \n\n") }

// silence is how long nothing need be written.
func (s *stream) silence() time.Duration { return time.Until(s.spoke.Add(speak)) }

func (s *stream) write(text string) {
	s.spoke = time.Now()
	if s.ended {
		return
	}
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTime))
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store, no-transform")
		h.Set("X-Accel-Buffering", "no") // nginx would keep events back
		s.w.WriteHeader(http.StatusOK)
	}
	_, err := s.w.Write([]byte(text))
	if err == nil {
		err = s.c.Flush()
	}
	s.ended = err != nil
	s.stuck = errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT)
	_ = s.c.SetWriteDeadline(time.Time{})
}
