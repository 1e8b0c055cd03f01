package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

const (
	setStock  = "redis.call('SET', KEYS[1], ARGV[1]) return ARGV[1]"
	readStock = "return redis.call('GET', KEYS[1])"
)

// eval runs a script of a user on the key "stock".
func (h hold) eval(script string, args ...string) (string, error) {
	reply, err := h.Eval(context.Background(), script, []string{"stock"}, args)
	return strings.Join(reply, " "), err
}

func (s stage) mustEval(h hold, script string, args ...string) string {
	s.t.Helper()
	reply, err := h.eval(script, args...)
	if err != nil {
		s.t.Fatalf("Eval: %v\n%s", err, s.History(200))
	}
	return reply
}

func (s stage) wantStock(want string) {
	s.t.Helper()
	if got, _ := s.Do("GET", "stock").(string); got != want {
		s.t.Errorf("the stock: got %q, want %q", got, want)
	}
}

// twoTurns lets a write of the first turn of a tenure arrive once more a second
// later, in the second turn of the same tenure, which it returns.
func twoTurns(s stage) hold {
	p0 := s.process("p0", 15*time.Second)
	first := s.lock(p0, "n")
	next := s.waits(p0, "n")
	id, _ := s.Do("GET", sim.Prefix+"n").(string)
	s.on(func(step sim.Step, f *sim.Fate) {
		if step.Kind == "eval" && step.N == 0 {
			f.Again = time.Second
		}
	})
	s.mustEval(first, setStock, "old")
	first.release()
	second := s.soon("the second turn", next, time.Second)
	if got, _ := s.Do("GET", sim.Prefix+"n").(string); got != id {
		s.t.Fatal("it is another tenure: this proves nothing of turns")
	}
	return second
}

// A write of an earlier turn, delivered once more, does not come after those of
// a later turn, though the lock key names the tenure of both.
func TestEvalLateWriteOfAnEarlierTurn(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		second := twoTurns(s)
		s.mustEval(second, setStock, "new")
		time.Sleep(2 * time.Second)
		s.wantStock("new")
		second.release()
	})
}

// The first script of a lease shuts earlier ones out before it reads: what it has
// read stays true.
func TestEvalReadsAfterItsToken(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		second := twoTurns(s)
		s.Do("SET", "stock", "counted")
		read := s.mustEval(second, readStock)
		time.Sleep(2 * time.Second)
		s.wantStock(read)
		second.release()
	})
}

// A request that was frozen on its way, with its process, finds the name
// another's and does nothing; awake, the process is told before it sends.
func TestEvalFrozen(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		s.subscribe(p1)
		sent := 0
		s.on(func(step sim.Step, f *sim.Fate) {
			switch {
			case step.Kind == "eval" && step.Process == 0:
				f.Out = 10 * time.Second
				sent++
			case step.Process == 0 && step.Kind == "renew":
				f.LoseOut = true
			}
		})
		first := s.lock(p0, "n")
		came := make(chan error, 1)
		go func() {
			_, err := first.eval(setStock, "old")
			came <- err
		}()
		next := s.waits(p1, "n")
		second := s.soon("the next", next, 10*time.Second)
		s.Do("SET", "stock", "new") // by another way than Eval: only the lock key can tell
		if _, err := first.eval(setStock, "older"); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Eval of a lease that is over: got %v, want ErrLost", err)
		}
		if err := <-came; !errors.Is(err, holdfast.ErrUnreachable) {
			t.Errorf("Eval that got no answer: got %v, want ErrUnreachable", err)
		}
		time.Sleep(11 * time.Second)
		s.wantStock("new")
		s.Atomically(func() {
			if sent != 1 {
				t.Errorf("%d scripts were sent by the first holder, want 1", sent)
			}
		})
		s.Watch.Leaves(first.held)
		_ = first.Release()
		second.release()
	})
}

// Who learns by Eval that its key is gone has lost the lease, at once and not at
// the next renewal, and wrote nothing.
func TestEvalKeyGone(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		h := s.lock(s.process("p0", 15*time.Second), "n")
		s.Do("SET", "stock", "before")
		s.Evict("n")
		_, err := h.eval(setStock, "after")
		var lost *holdfast.LostError
		if !errors.As(err, &lost) || lost.Cause != holdfast.Gone || lost.Token != h.Token() {
			t.Errorf("Eval without the lock key: got %v, want it lost, cause gone", err)
		}
		s.wantStock("before")
		select {
		case <-h.Done():
		case <-time.After(time.Second):
			t.Error("a second later the lease is still believed in")
		}
		s.Watch.Leaves(h.held)
		_ = h.Release()
	})
}

// W outlives the last script of a lease by a day, however long the tenure lasts
// and whatever ran before.
func TestEvalTokenIsKept(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		const written = "holdfast/written:{" + sim.Prefix + "n}"
		h := s.lock(s.process("p0", 15*time.Second), "n")
		for range 4 {
			s.mustEval(h, readStock)
			if left, _ := s.Do("PTTL", written).(int64); left < (24 * time.Hour).Milliseconds() {
				t.Errorf("the written key lives for %d ms, want a day at least", left)
			}
			time.Sleep(40 * time.Minute)
		}
		if got, want := s.Do("GET", written), itoa(h.Token()); got != want {
			t.Errorf("W: got %v, want the token %s", got, want)
		}
		h.release()
	})
}
