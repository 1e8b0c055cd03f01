package sim_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Each test here is of Options.TokenMemory: how long Redis remembers the newest token of a name,
// and that no Client shortens what another one needs.

const aDay = 24 * time.Hour

// forgets is a Client whose tokens are remembered for memory.
func (s stage) forgets(owner string, ttl, memory time.Duration) *sim.Link {
	return s.Process(owner, holdfast.Options{TTL: ttl, TokenMemory: memory, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, 1)
}

// livesFor is how long a key lives.
func (s stage) livesFor(key string) time.Duration {
	s.t.Helper()
	ms, _ := s.Do("PTTL", key).(int64)
	return time.Duration(ms) * time.Millisecond
}

// remembers wants the token of a name to be remembered for d and a second, by which it may be ahead
// of the clock.
func (s stage) remembers(what, name string, d time.Duration) {
	s.t.Helper()
	_, fence, _ := sim.Keys(name)
	if got := s.livesFor(fence); got < d || got > d+time.Second {
		s.t.Errorf("%s: the fence key lives for %v, want %v and a second", what, got, d)
	}
}

// Whatever script grants a name, the Client that gets it decides how long its token is remembered.
func TestTokenMemory(t *testing.T) {
	once := func(context.Context, *holdfast.Lease) error { return nil }
	for what, use := range map[string]func(s stage, l *sim.Link) string{
		"lock": func(s stage, l *sim.Link) string { s.lock(l, "n").release(); return "n" },
		"with a ttl of its own": func(s stage, l *sim.Link) string {
			s.dedicated(l, "n", "me", 20*time.Second).release()
			return "n"
		},
		"multi": func(s stage, l *sim.Link) string {
			m, err := s.multi(l, time.Minute, "n", "o")
			if err != nil {
				s.t.Fatal(err)
			}
			m.release()
			return "o"
		},
		"readers": func(s stage, l *sim.Link) string { s.take(l, "n", read).release(); return "n" },
		"permits": func(s stage, l *sim.Link) string { s.take(l, "n", permits(2, 3)).release(); return "n" },
		"a term":  func(s stage, l *sim.Link) string { s.leads(l, "me").release(); return "n" },
		"tick": func(s stage, l *sim.Link) string {
			if err := l.Client.OnceEvery(s.t.Context(), "n", time.Hour, time.Time{}, once); err != nil {
				s.t.Error(err)
			}
			return "n"
		},
		"adoption": func(s stage, l *sim.Link) string { s.adopt(l, "n", s.lock(l, "n").export()).release(); return "n" },
		"steal": func(s stage, l *sim.Link) string {
			old := s.lock(s.forgets("old", 15*time.Second, time.Minute), "n")
			s.Watch.Leaves(old.held)
			s.takes(l, l.Client.Mutex("n"), s.hash(l, "n")).release()
			_ = old.Release()
			return "n"
		},
	} {
		for memory, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, 2 * time.Hour: 2 * time.Hour, 0: 25 * time.Hour, 25 * time.Hour: 25 * time.Hour} {
			play(t, func(_ *testing.T, s stage) {
				name := use(s, s.forgets("p0", 15*time.Second, memory))
				s.remembers(what, name, want)
			})
		}
	}
}

// A pushed grant is remembered for as long as the Client that gets it wants, whichever Client
// hands the name over: it can be of a build that knows no TokenMemory.
func TestTokenMemoryOfWaiters(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, memory := range []time.Duration{0, time.Minute} { // of the waiter
			play(t, func(t *testing.T, s stage) {
				wait, take := s.waits, s.lock
				if shared {
					wait = func(l *sim.Link, name string) <-chan hold { return s.wants(l, name, write) }
					take = func(l *sim.Link, name string) hold { return s.take(l, name, write) }
				}
				p0, p1 := s.forgets("p0", 15*time.Second, 10*time.Minute), s.forgets("p1", 15*time.Second, memory)
				first := take(p0, "n")
				next := wait(p1, "n")
				first.release()
				second := s.soon("p1", next, time.Second)
				want := 10 * time.Minute // p0 has set that, and nobody shortens it
				if memory == 0 {
					want = 25 * time.Hour
				}
				s.remembers("pushed", "n", want)
				second.release()
			})
		}
	}
}

// Readers that are granted together: the longest memory counts.
func TestTokenMemoryOfReaders(t *testing.T) {
	for _, longest := range []int{0, 1, 2} {
		play(t, func(_ *testing.T, s stage) {
			writer := s.take(s.forgets("w", 15*time.Second, time.Minute), "n", write)
			var next []<-chan hold
			for i := range 3 {
				memory := time.Minute * time.Duration(2+i)
				if i == longest {
					memory = 0
				}
				next = append(next, s.wants(s.forgets("r"+itoa(int64(i)), 15*time.Second, memory), "n", read))
			}
			writer.release()
			var held []hold
			for _, got := range next {
				held = append(held, s.soon("a reader", got, time.Second))
			}
			s.remembers("three readers", "n", 25*time.Hour)
			for _, h := range held {
				h.release()
			}
		})
	}
}

// No Client shortens a life that another one has set, by whatever it does with the name.
func TestTokenMemoryIsNotShortened(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.forgets("p1", 15*time.Second, time.Minute)
		_, fence, _ := sim.Keys("n")
		s.lock(p0, "n").release()
		kept := func(what string) {
			t.Helper()
			if got := s.livesFor(fence); got < aDay {
				t.Errorf("%s: the fence key lives for %v, want a day", what, got)
			}
		}
		h := s.lock(p1, "n")
		kept("lock")
		time.Sleep(20 * time.Second)
		kept("renew")
		next := s.waits(s.forgets("p2", 15*time.Second, time.Minute), "n")
		h.release()
		s.soon("p2", next, time.Second).release()
		kept("a push")
		s.keeps(p1, "n", time.Second).release()
		kept("cool-down")
		time.Sleep(2 * time.Second)
		s.adopt(p1, "n", s.lock(p1, "n").export()).release()
		kept("adopt")
		m, err := s.multi(p1, time.Minute, "n", "o")
		if err != nil {
			t.Fatal(err)
		}
		kept("multi_lock")
		m.release()
		for _, part := range []sim.Part{read, write} {
			r := s.take(p1, "n", part)
			kept("shared_lock")
			time.Sleep(20 * time.Second)
			kept("shared_renew")
			r.release()
		}
	})
}

// A script that runs twice, and a minimum that a renewal asks for, shorten no life either, and
// make none longer again and again.
func TestTokenMemoryOfRepeats(t *testing.T) {
	for kind, use := range map[string]func(s stage, l *sim.Link) func(){
		"lock": func(s stage, l *sim.Link) func() { return s.lock(l, "n").release },
		"multi_lock": func(s stage, l *sim.Link) func() {
			m, err := s.multi(l, time.Minute, "n", "o")
			if err != nil {
				s.t.Fatal(err)
			}
			return m.release
		},
		"adopt": func(s stage, l *sim.Link) func() { return s.adopt(l, "n", s.lock(l, "n").export()).release },
		"take": func(s stage, l *sim.Link) func() {
			old := s.lock(s.forgets("old", 15*time.Second, time.Minute), "n")
			s.Watch.Leaves(old.held)
			return s.takes(l, l.Client.Mutex("n"), s.hash(l, "n")).release
		},
		"renew": func(s stage, l *sim.Link) func() { return s.keeps(l, "n", time.Minute).release },
	} {
		for _, before := range []time.Duration{0, time.Minute} { // of the Client that had the name before
			play(t, func(t *testing.T, s stage) {
				s.on(func(step sim.Step, f *sim.Fate) { f.Twice = step.Kind == kind })
				s.lock(s.forgets("p0", 15*time.Second, before), "n").release()
				release := use(s, s.forgets("p1", 15*time.Second, time.Minute))
				_, fence, _ := sim.Keys("n")
				if got := s.livesFor(fence); before == 0 && got < aDay || got > 25*time.Hour+time.Minute || before > 0 && got > 3*time.Minute {
					t.Errorf("%s: the fence key lives for %v beside a memory of %v", kind, got, before)
				}
				release()
			})
		}
	}
}

// A name that cools down for longer than its ttl, without a renewal, is remembered from the end of
// its cool-down.
func TestTokenMemoryAfterACooldown(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.forgets("p0", time.Hour, time.Minute)
		s.keeps(p0, "n", time.Hour-30*time.Second).release()
		lock, fence, _ := sim.Keys("n")
		if cools, got := s.livesFor(lock), s.livesFor(fence); got < cools+time.Minute {
			t.Errorf("the name cools down for %v, its fence key lives for %v, want a minute more", cools, got)
		}
	})
}

// The fence key outlives the lock key: its ttl is longer than TokenMemory, and it is held for a
// while. After the last renewal it lives for the ttl.
func TestTokenMemoryOutlivesTheTTL(t *testing.T) {
	for _, part := range []*sim.Part{nil, &read} {
		play(t, func(t *testing.T, s stage) {
			p0 := s.forgets("p0", time.Hour, time.Minute)
			var h hold
			if part == nil {
				h = s.lock(p0, "n")
			} else {
				h = s.take(p0, "n", *part)
			}
			lock, fence, _ := sim.Keys("n")
			for range 100 {
				if life, got := s.livesFor(lock), s.livesFor(fence); got < life {
					t.Fatalf("the lock key lives for %v, the fence key for %v", life, got)
				}
				time.Sleep(6*time.Minute + 7*time.Second)
			}
			h.release()
		})
	}
}

// A lease that is held for longer than TokenMemory keeps its token, and prolongs it with each
// renewal.
func TestTokenMemoryWhileHeld(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		h := s.lock(s.forgets("p0", 15*time.Second, time.Minute), "n")
		_, fence, _ := sim.Keys("n")
		for range 100 {
			time.Sleep(3 * time.Second)
			if got := s.livesFor(fence); got < 50*time.Second {
				s.t.Fatalf("the fence key lives for %v, want a minute from the last renewal", got)
			}
		}
		h.release()
	})
}

// The fence key outlives a MinHold, its renewals and its cool-down, and grows by none of them.
func TestTokenMemoryOutlivesMinHold(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		const week = 7 * aDay
		p0 := s.forgets("p0", 15*time.Second, time.Minute)
		h := s.keeps(p0, "n", week)
		s.remembers("held", "n", week+time.Minute)
		time.Sleep(time.Hour)
		s.remembers("renewed for an hour", "n", week+time.Minute-time.Hour)
		h.release()
		s.remembers("in cool-down", "n", week+time.Minute-time.Hour)
	})
}

// A hold that was exported is remembered while it is renewed by hand, by any Client, and is still
// known to be the newest at its adoption.
func TestTokenMemoryOutlivesAnExport(t *testing.T) {
	for _, part := range []*sim.Part{nil, &read} {
		play(t, func(t *testing.T, s stage) {
			p0, p1 := s.forgets("p0", 15*time.Minute, time.Minute), s.process("p1", 15*time.Second)
			var h hold
			if part == nil {
				h = s.lock(p0, "n")
			} else {
				h = s.take(p0, "n", *part)
			}
			text := h.export()
			for range 10 {
				s.remembers("exported", "n", 15*time.Minute)
				time.Sleep(7 * time.Minute)
				s.renewExported(p1, text)
			}
			if err := p1.Client.ReleaseExported(t.Context(), text); err != nil {
				t.Error(err)
			}
		})
	}
}

// A token that is ahead of the clock, because that went back, is remembered until the clock has
// passed it.
func TestTokenMemoryAheadOfTheClock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.forgets("p0", 15*time.Second, time.Minute)
		first := s.lock(p0, "n")
		s.mustEval(first, readStock)
		first.release()
		s.StepBack(time.Hour)
		_, fence, _ := sim.Keys("n")
		keys := []string{fence, "holdfast/written:{" + sim.Prefix + "n}"}
		for _, key := range keys {
			s.Do("PEXPIRE", key, "61000") // as on a replica whose clock is behind, and that counts the life by it
		}
		second := s.lock(p0, "n")
		s.mustEval(second, readStock)
		for _, key := range keys {
			if got := s.livesFor(key); got < time.Hour+2*time.Second {
				t.Errorf("%s lives for %v, want 2 s beyond its token, which is an hour ahead", key, got)
			}
		}
		second.release()
		time.Sleep(30 * time.Minute)
		third := s.lock(p0, "n")
		if third.Token() <= second.Token() || second.Token() <= first.Token() {
			t.Errorf("tokens %d, %d, %d; want them to rise", first.Token(), second.Token(), third.Token())
		}
		third.release()
	})
}

// After its time a name has left nothing, and its next token is higher.
func TestTokenMemoryIsOver(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.forgets("p0", 15*time.Second, time.Minute)
		first := s.lock(p0, "n")
		s.mustEval(first, readStock)
		first.release()
		s.take(p0, "s", permits(1, 2)).release()
		time.Sleep(62 * time.Second)
		if left, _ := s.Do("KEYS", "*").([]any); len(left) > 0 {
			t.Errorf("these keys are left: %q", left)
		}
		second := s.lock(p0, "n")
		if second.Token() <= first.Token() {
			t.Errorf("token %d after %d", second.Token(), first.Token())
		}
		second.release()
	})
}

// The token of Eval is remembered for as long as the fence key, and no Client shortens that.
func TestTokenMemoryOfEval(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		const written = "holdfast/written:{" + sim.Prefix + "n}"
		p0, p1 := s.process("p0", 15*time.Second), s.forgets("p1", 15*time.Second, time.Minute)
		h := s.lock(p1, "n")
		for range 3 {
			s.mustEval(h, readStock)
			if got := s.livesFor(written); got < time.Minute || got > time.Minute+time.Second {
				t.Errorf("the written key lives for %v, want a minute", got)
			}
			time.Sleep(40 * time.Second)
		}
		h.release()
		h = s.lock(p0, "n")
		s.mustEval(h, readStock)
		h.release()
		h = s.lock(p1, "n")
		for range 2 {
			s.mustEval(h, readStock)
			if got := s.livesFor(written); got < aDay {
				t.Errorf("the written key lives for %v, want the day that another Client has set", got)
			}
		}
		if got, want := s.Do("GET", written), itoa(h.Token()); got != want {
			t.Errorf("the written key: got %v, want the token %s", got, want)
		}
		h.release()
	})
}

// The size of a semaphore that its first use has set is remembered as the token is, also while a
// permit is held for long. One that Resize has set lives 30 days from each use.
func TestTokenMemoryOfASize(t *testing.T) {
	for memory, ttl := range map[time.Duration]time.Duration{0: 6 * time.Hour, time.Minute: 15 * time.Second} {
		for _, exported := range []bool{false, true} {
			play(t, func(t *testing.T, s stage) {
				p0 := s.forgets("p0", ttl, memory)
				_, fence, _ := sim.Keys("n")
				same := func(what string) {
					t.Helper()
					if size, token := s.livesFor(sim.KeySize("n")), s.livesFor(fence); size < time.Minute-ttl/2 || (size-token).Abs() > time.Second {
						t.Errorf("%s: the size lives for %v, the token for %v", what, size, token)
					}
				}
				h := s.take(p0, "n", permits(1, 2))
				same("taken")
				s.take(p0, "n", permits(1, 2)).release()
				same("a second permit")
				text := ""
				if exported {
					text = h.export()
				}
				for range 15 {
					time.Sleep(ttl / 2)
					if exported {
						s.renewExported(p0, text)
					}
				}
				same("held for long")
				if !exported {
					h.release()
				} else if err := p0.Client.ReleaseExported(t.Context(), text); err != nil {
					t.Error(err)
				}
				if _, err := p0.Client.Semaphore("n", 5).TryAcquire(t.Context(), 3); err == nil {
					t.Error("3 of 2, 5 stated: got them")
				}
			})
		}
	}
	play(t, func(t *testing.T, s stage) {
		p0 := s.forgets("p0", 15*time.Second, time.Minute)
		s.take(p0, "n", permits(1, 2)).release()
		if err := p0.Client.Semaphore("n", 2).Resize(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*sim.Link{p0, s.process("p1", 15*time.Second)} {
			h, err := p.Client.Semaphore("n", 3).Acquire(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			other, err := p.Client.Semaphore("n", 3).Acquire(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if got := s.livesFor(sim.KeySize("n")); got < 30*aDay-time.Minute {
				t.Errorf("%s: the size that Resize has set lives for %v, want 30 days", p.Owner, got)
			}
			_, _ = h.Release(), other.Release()
		}
	})
	play(t, func(t *testing.T, s stage) { // a short memory does not shorten the size of another Client
		s.take(s.process("p0", 15*time.Second), "n", permits(1, 2)).release()
		h := s.take(s.forgets("p1", 15*time.Second, time.Minute), "n", permits(1, 2))
		for range 2 {
			if got := s.livesFor(sim.KeySize("n")); got < aDay {
				t.Errorf("the size lives for %v, want a day", got)
			}
			time.Sleep(20 * time.Second) // it is renewed
		}
		h.release()
	})
}

// The record of Once lives for two intervals, and for 10 min at least. That of a schedule has its
// phase, and lives for a day.
func TestOnceIsRemembered(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 15*time.Second)
		const record = "holdfast/once:{" + sim.Prefix + "job}"
		for interval, want := range map[time.Duration]time.Duration{time.Second: 10 * time.Minute, time.Hour: 2 * time.Hour} {
			if err := s.once(p0, interval, 0, func() {}); err != nil {
				t.Fatal(err)
			}
			if got := s.livesFor(record); got < want-time.Second || got > want {
				t.Errorf("an interval of %v: the record lives for %v, want %v", interval, got, want)
			}
			time.Sleep(want + time.Second)
		}
		if err := s.tick(p0, time.Minute, time.Time{}, 0, func() {}); err != nil {
			t.Fatal(err)
		}
		if got := s.livesFor(record); got < aDay {
			t.Errorf("a schedule: the record lives for %v, want a day", got)
		}
	})
}
