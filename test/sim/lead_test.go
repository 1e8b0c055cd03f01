package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

var errDone = errors.New("done")

// A value that would not be read by others as it was given is refused, and told
// what is wrong with it; one that fits is theirs to the letter.
func TestCandidateValues(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		e := s.process("p0", 15*time.Second).Client.Election("n")
		for _, value := range []string{strings.Repeat("x", holdfast.MaxValue+1), "a|b", "a\nb", " a", "a\xff"} {
			_, err := e.Campaign(t.Context(), value)
			var bad *holdfast.ValueError
			if !errors.Is(err, holdfast.ErrValue) || !errors.As(err, &bad) || bad.Value != value {
				t.Errorf("Campaign(%q) = %v; want a ValueError", value, err)
			}
		}
		for value, want := range map[string]string{"": "p0", "http://[::1]:80/a b?c=ü": "http://[::1]:80/a b?c=ü", strings.Repeat("x", holdfast.MaxValue): strings.Repeat("x", holdfast.MaxValue)} {
			lease, err := e.Campaign(t.Context(), value)
			if err != nil {
				t.Fatalf("Campaign(%q): %v", value, err)
			}
			leader, err := e.Leader(t.Context())
			if err != nil || leader.Value != want || leader.Term != lease.Token() || !leader.Own || leader.Foreign || leader.Remaining <= 0 {
				t.Errorf("Leader = %+v, %v; want %q", leader, err, want)
			}
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
		if leader, err := e.Leader(t.Context()); err != nil || leader != (holdfast.Leader{}) {
			t.Errorf("Leader = %+v, %v; want nobody, the zero Leader", leader, err)
		}
		bad := s.process("p1", 15*time.Second).Client.Election("a}b")
		if _, err := bad.Leader(t.Context()); !errors.Is(err, holdfast.ErrName) {
			t.Errorf("Leader of a bad name: %v", err)
		}
		for _, err := range bad.Observe(t.Context()) {
			if !errors.Is(err, holdfast.ErrName) {
				t.Errorf("Observe of a bad name: %v", err)
			}
		}
	})
}

// What holds the name without being a candidate is seen, too: a Mutex by its owner,
// a foreign client as such; and what MinHold leaves behind is nobody.
func TestLeaderThatIsNone(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		d := s.observes(p1)
		defer d.stop()
		time.Sleep(5 * time.Second)
		held := s.lock(p0, "n")
		if leader, err := p1.Client.Election("n").Leader(t.Context()); err != nil || leader.Value != "p0" || leader.Term != 0 || leader.Own {
			t.Errorf("Leader = %+v, %v; want p0, no term", leader, err)
		}
		d.wantsWithin(s, 16*time.Second, "none", "p0")
		held.release()
		d.wantsWithin(s, 1100*time.Millisecond, "none", "p0", "none")
		lock, _, _ := sim.Keys("n")
		s.Do("SET", lock, "theirs")
		if leader, err := p1.Client.Election("n").Leader(t.Context()); err != nil || !leader.Foreign || leader.None() || leader.Remaining >= 0 {
			t.Errorf("Leader = %+v, %v; want a foreign one without end", leader, err)
		}
		s.Do("SET", lock, "cooldown|p0", "PX", "10000")
		if leader, err := p1.Client.Election("n").Leader(t.Context()); err != nil || leader != (holdfast.Leader{}) {
			t.Errorf("Leader = %+v, %v; want nobody, the zero Leader", leader, err)
		}
		s.Do("DEL", lock)
	})
}

// Lead ends a term when its function returns, and returns what that did; after a
// loss it campaigns again, whatever the function returned.
func TestLead(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 3*time.Second)
		e := p0.Client.Election("n")
		var tokens []int64
		err := holdfast.Lead(t.Context(), e, "a", func(ctx context.Context, lease *holdfast.Lease) error {
			tokens = append(tokens, lease.Token())
			if len(tokens) == 3 {
				return errDone
			}
			s.Evict("n")
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
				t.Error("the loss of the term did not end the context")
			}
			if !errors.Is(context.Cause(ctx), holdfast.ErrLost) {
				t.Errorf("cause: %v; want ErrLost", context.Cause(ctx))
			}
			return errors.New("not this")
		})
		if err != errDone || len(tokens) != 3 { //nolint:errorlint // nothing is wrapped
			t.Errorf("Lead = %v after %d terms; want errDone after 3", err, len(tokens))
		}
		if tokens[1] <= tokens[0] || tokens[2] <= tokens[1] {
			t.Errorf("terms %d do not rise", tokens)
		}
		s.nothingLeft("n")
		if err := holdfast.Lead(t.Context(), e, "", func(context.Context, *holdfast.Lease) error { return nil }); err != nil {
			t.Errorf("Lead = %v; want nil", err)
		}
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != "as it comes" {
					t.Errorf("panic: got %q", got)
				}
			}()
			_ = holdfast.Lead(t.Context(), e, "", func(context.Context, *holdfast.Lease) error { panic("as it comes") })
		}()
		s.nothingLeft("n")
	})
}

// Lead goes on while the store is away, and ends with its context, with its
// Client, and at what no retry mends.
func TestLeadGoesOn(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", time.Second)
		began := time.Now()
		over := make(chan error, 1)
		away := make(chan struct{})
		go func() {
			s.Restart(false, 30*time.Second)
			close(away)
		}()
		time.Sleep(time.Millisecond)
		go func() {
			over <- holdfast.Lead(context.Background(), p0.Client.Election("n"), "a", func(context.Context, *holdfast.Lease) error { return errDone })
		}()
		if err := <-over; !errors.Is(err, errDone) || time.Since(began) < 30*time.Second || time.Since(began) > 40*time.Second {
			t.Errorf("Lead = %v after %v; want errDone soon after 30 s", err, time.Since(began))
		}
		<-away

		holder := s.lock(s.process("p1", 15*time.Second), "n")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		never := func(context.Context, *holdfast.Lease) error {
			t.Error("it led")
			return nil
		}
		if err := holdfast.Lead(ctx, p0.Client.Election("n"), "a", never); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lead = %v; want the context's error", err)
		}
		if err := holdfast.Lead(t.Context(), p0.Client.Election("n"), "|", never); !errors.Is(err, holdfast.ErrValue) {
			t.Errorf("Lead = %v; want ErrValue", err)
		}
		closed := make(chan struct{})
		go func() {
			time.Sleep(time.Second)
			_ = p0.Client.Close()
			close(closed)
		}()
		if err := holdfast.Lead(t.Context(), p0.Client.Election("n"), "a", never); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("Lead = %v; want ErrClosed", err)
		}
		<-closed
		holder.release()
	})
}
