// Package stream serves leases that live as long as a connection.
package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/lease"
	"github.com/holdfast-go/holdfast/server/internal/limit"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

const (
	quiet     = 10 * time.Second // the longest silence of a stream
	speak     = quiet - quiet/40 // after how much of it a line is sent: timers are late
	writeTime = 10 * time.Second // the longest that a client may not read
	unknown   = 15 * time.Second // how long a token is missing before its streams end
)

// Streams serves leases bound to streams.
type Streams struct {
	*lease.Leases
	Open   *limit.Gate
	Limits lease.Limits
	Grace  time.Duration // for a client to close its stream when the server shuts down

	count atomic.Int64
}

// Count is the number of streams.
func (a *Streams) Count() int64 { return a.count.Load() }

// Serve answers a lease that lives as long as its connection, as server-sent
// events. Closing that gives it back, and so does the death of the client.
func (a *Streams) Serve(w http.ResponseWriter, r *http.Request) error {
	a.count.Add(1)
	defer a.count.Add(-1)
	v, _, err := lease.ReadWish(w, r, a.Limits)
	if err == nil && a.Life.Err() != nil {
		err = reply.Closing
	}
	if err != nil {
		return err
	}
	leave, err := a.Open.Enter(auth.PrincipalOf(r))
	if err != nil {
		return err
	}
	defer leave()
	s := &stream{api: a, w: w, c: http.NewResponseController(w), ctx: r.Context(), by: auth.PrincipalOf(r)}
	got, err := s.wait(v)
	if err == nil {
		defer got.Release() //nolint:errcheck // it is retried in the background
		if !s.by.Valid() {
			err = lease.ErrTokenRemoved
		}
	}
	switch {
	case err == nil:
		s.keep(got, v)
	case s.begun:
		s.event("failed", reply.ProblemOf(err).Members())
	default:
		return err
	}
	return nil
}

// stream is one connection.
type stream struct {
	api   *Streams
	until time.Time // by the last event: until then the client may believe that it has the lease
	w     http.ResponseWriter
	c     *http.ResponseController
	ctx   context.Context // the request's
	by    auth.Principal
	known time.Time // when its token was last in the file
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

// wait gets the lease. A request that does not wait is answered by a status, one that
// does by events.
func (s *stream) wait(v *lease.Wish) (got *holdfast.Lease, err error) {
	err = s.api.Store.Do(s.ctx, func(ctx context.Context) error {
		if v.Wait == 0 {
			got, err = s.api.Lock(ctx, v)
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err = s.api.Lock(ctx, v)
		}()
		s.event("waiting", map[string]string{"name": v.Name})
		closing, next := s.api.Life.Done(), time.NewTimer(s.silence())
		defer next.Stop()
		for {
			select {
			case <-done:
				return err
			case <-next.C:
				if s.comment(); s.ended {
					cancel(nil)
				}
				next.Reset(s.silence())
			case <-closing:
				closing = nil
				cancel(reply.Closing)
			}
		}
	})
	if errors.Is(err, holdfast.ErrHeld) {
		err = s.api.Names.Held(s.ctx, v.Name)
	}
	return got, err
}

// keep sends events about the lease until it or the connection ends.
func (s *stream) keep(held *holdfast.Lease, v *lease.Wish) {
	said := held.Remaining()
	s.known = time.Now()
	s.until = s.known.Add(said)
	s.event("granted", granted{v.Name, held.Token(), v.Owner, v.TTL.Milliseconds(), said.Milliseconds()})
	every := min(v.TTL/6, speak)
	next := time.NewTimer(every)
	defer next.Stop()
	defer s.linger(held)
	for !s.ended {
		select {
		case <-s.ctx.Done():
			return
		case <-held.Done():
			s.end(held, v)
			return
		case <-s.api.Life.Done():
			s.closes(held, v, reply.Closing.Detail)
			return
		case <-next.C:
			now, left := time.Now(), held.Remaining()
			if s.by.Valid() {
				s.known = now
			} else if now.Sub(s.known) > unknown {
				s.closes(held, v, "the token was removed")
				return
			}
			switch {
			case now.Add(left).Sub(s.until) > every/2:
				s.until = now.Add(left)
				s.event("renewed", granted{Name: v.Name, Token: held.Token(), TTLMS: v.TTL.Milliseconds(), Remaining: left.Milliseconds()})
			case s.silence() <= 0:
				s.comment()
			}
			next.Reset(min(every, s.silence()))
		}
	}
}

// end sends the end of a lease. A revoked lease keeps its name until it is released, so its
// client has half a ttl to stop and close. The client may not have got that event. So if it does
// not close, it keeps the name for the remaining time in the last event before.
func (s *stream) end(held *holdfast.Lease, v *lease.Wish) {
	var lost *holdfast.LostError
	if !errors.As(held.Err(), &lost) {
		return
	}
	e := over{Name: v.Name, Token: lost.Token, Cause: lost.Cause, Reason: lost.Reason}
	if lost.Cause == holdfast.Revoked {
		grace := v.TTL / 2
		e.GraceMS = grace.Milliseconds()
		s.event("revoke-requested", e)
		e.GraceMS = 0
		if s.waitsFor(grace, nil) {
			return
		}
		if s.stuck || s.waitsFor(time.Until(s.until), s.api.Life.Done()) { // it has not stopped, as far as we know
			return
		}
		_ = held.Release() // before the client learns that it is over
	}
	s.event("lost", e)
}

// closes lets the client of a lease stop, if the server shuts down or the token of the client was
// removed. The lease is renewed meanwhile.
func (s *stream) closes(held *holdfast.Lease, v *lease.Wish, reason string) {
	grace := s.api.Grace
	e := over{Name: v.Name, Token: held.Token(), Cause: holdfast.Closed, Reason: reason, GraceMS: grace.Milliseconds()}
	s.event("revoke-requested", e)
	if s.waitsFor(grace, held.Done()) {
		return
	}
	_ = held.Release()
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

// linger keeps the lease of a client that reads or acknowledges nothing for the remaining time in
// the last event: the client has not closed the stream, and may be cut off and at work.
func (s *stream) linger(held *holdfast.Lease) {
	if !s.stuck && !limit.FellSilent(s.ctx) {
		return
	}
	t := time.NewTimer(time.Until(s.until))
	defer t.Stop()
	over := held.Done()
	for {
		select {
		case <-t.C:
		case <-s.api.Life.Done():
		case <-over:
			var lost *holdfast.LostError
			if over = nil; errors.As(held.Err(), &lost) && lost.Cause == holdfast.Revoked {
				continue // it is still the client's
			}
		}
		return
	}
}

func (s *stream) event(kind string, data any) {
	text, _ := json.Marshal(data) // of our own types
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
