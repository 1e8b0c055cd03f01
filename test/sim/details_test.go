package sim_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/sim"
)

// talks adds a process that tells of itself.
func (s stage) talks(owner string) *sim.Link {
	return s.Process(owner, holdfast.Options{
		TTL: 15 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Details: &holdfast.Details{User: owner},
	}, 1)
}

// tells reports what p1 sees of the holder's details.
func (s stage) tells(looks *sim.Link, name string) string {
	s.t.Helper()
	state, err := admin.Of(looks.Client).Inspect(s.t.Context(), name)
	if err != nil || state.Holder == nil {
		s.t.Fatalf("Inspect: %+v, %v; want a holder", state, err)
	}
	if state.Holder.Details == nil {
		return ""
	}
	return state.Holder.Details.User
}

// Details that are lost on their way are written again, and those of who holds on are
// kept for as long; of who died nothing is left an hour and a ttl later. No lock is
// late for them, whatever becomes of them.
func TestDetailsAreKeptAlive(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.talks("p0"), s.process("p1", 15*time.Second)
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "details_note" && step.N == 0 })
		began := time.Now()
		s.lock(p0, "n")
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("the lock took %v, want a round trip", took)
		}
		time.Sleep(time.Minute)
		if got := s.tells(p1, "n"); got != "" {
			t.Errorf("the first were lost: got %q, want nothing", got)
		}
		time.Sleep(20 * time.Minute)
		if got := s.tells(p1, "n"); got != "p0" {
			t.Errorf("after 20 minutes: got %q, want p0", got)
		}
		time.Sleep(5 * time.Hour)
		if got := s.tells(p1, "n"); got != "p0" {
			t.Errorf("after hours: got %q, want p0", got)
		}
		p0.Kill()
		time.Sleep(time.Hour + 16*time.Second)
		s.nothingLeft("n")
		if n := s.Do("DBSIZE"); n != int64(1) { // the fence
			t.Errorf("%v keys are left, want the fence alone", n)
		}
	})
}
