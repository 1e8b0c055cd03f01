package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

type releaser interface{ Release() error }

// middles is what a caller can be in the middle of.
var middles = []struct {
	what  string
	first string // what another has before
	begin func(ctx context.Context, c *holdfast.Client, text string) (releaser, error)
}{
	{"lock", "lock", func(ctx context.Context, c *holdfast.Client, _ string) (releaser, error) {
		return c.Mutex("n").Lock(ctx)
	}},
	{"try", "lock", func(ctx context.Context, c *holdfast.Client, _ string) (releaser, error) {
		return c.Mutex("n").TryLock(ctx)
	}},
	{"least", "lock", func(ctx context.Context, c *holdfast.Client, _ string) (releaser, error) {
		m := c.Mutex("n")
		m.MinHold = 5 * time.Second
		return m.Lock(ctx)
	}},
	{"read", "write", func(ctx context.Context, c *holdfast.Client, _ string) (releaser, error) {
		return c.RWMutex("n").RLock(ctx)
	}},
	{"write", "read", func(ctx context.Context, c *holdfast.Client, _ string) (releaser, error) {
		return c.RWMutex("n").Lock(ctx)
	}},
	{"acquire", "acquire", func(ctx context.Context, c *holdfast.Client, _ string) (releaser, error) {
		return c.Semaphore("n", 3).Acquire(ctx, 2)
	}},
	{"campaign", "campaign", func(ctx context.Context, c *holdfast.Client, text string) (releaser, error) {
		return c.Election("n").Campaign(ctx, "v"+text)
	}},
	{"adopt", "", func(ctx context.Context, c *holdfast.Client, text string) (releaser, error) {
		return c.Adopt(ctx, text)
	}},
}

func begin(ctx context.Context, what string, l *sim.Link, text string) (releaser, error) {
	for _, m := range middles {
		if m.what == what {
			return m.begin(ctx, l.Client, text)
		}
	}
	panic(what)
}

// Whatever a caller is in the middle of: when its context ends, or its Client is
// closed, it goes home soon, and nothing of it is left in Redis.
func TestEndsInTheMiddle(t *testing.T) {
	for round := *first; round < *first+max(4, *seeds/200); round++ {
		for _, m := range middles {
			for _, closes := range []bool{false, true} {
				endInTheMiddle(t, round, m.what, m.first, closes)
				if t.Failed() {
					t.Fatalf("round %d: %s, closed: %v", round, m.what, closes)
				}
			}
		}
	}
}

func endInTheMiddle(t *testing.T, round uint64, what, first string, closes bool) {
	play(t, func(t *testing.T, s stage) {
		r := rand.New(rand.NewPCG(round, 77))
		some := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
		p0, p1 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second)
		if round%2 == 0 {
			s.Shard()
		}
		travels := rand.New(rand.NewPCG(round, 78))
		s.SetNetwork(func(sim.Step) sim.Fate {
			return sim.Fate{Out: 1 + time.Duration(travels.Int64N(4e6)), Back: 1 + time.Duration(travels.Int64N(4e6))}
		})
		text := held(t, p0, first, some(60*time.Millisecond), round%3 > 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		home := make(chan struct{})
		callers := 1 + r.IntN(3)
		for range callers {
			wait, hold := some(20*time.Millisecond), some(20*time.Millisecond)
			go func() {
				time.Sleep(wait)
				if lease, err := begin(ctx, what, p1, text); err == nil {
					time.Sleep(hold)
					_ = lease.Release()
				}
				home <- struct{}{}
			}()
		}
		time.Sleep(some(120 * time.Millisecond))
		if !closes {
			cancel()
		} else if err := p1.Client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		late := time.After(3 * time.Second)
		for range callers {
			select {
			case <-home:
			case <-late:
				t.Error("a call does not return")
			}
		}
		time.Sleep(2 * time.Second) // what was under way
		s.nothingOf("p1")
	})
}

// held lets a process have the name for a while, or export it.
func held(t *testing.T, l *sim.Link, what string, d time.Duration, wanted bool) (text string) {
	t.Helper()
	if what == "" {
		lease, err := l.Client.Mutex("n").Lock(t.Context())
		if err == nil {
			text, err = lease.Export()
		}
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if !wanted {
		return ""
	}
	lease, err := begin(t.Context(), what, l, "")
	if err != nil {
		t.Fatal(err)
	}
	go func() { time.Sleep(d); _ = lease.Release() }()
	return ""
}

// nothingOf makes sure that a process neither holds the name nor waits for it.
func (s stage) nothingOf(owner string) {
	s.t.Helper()
	s.noneOf("|"+owner, "|v")
}

// noneOf makes sure that no id with one of these labels holds the name or waits for it.
func (s stage) noneOf(labels ...string) {
	s.t.Helper()
	lock, _, queue := sim.Keys("n")
	there := fmt.Sprint(s.Do("ZRANGE", queue, "0", "-1"), s.Do("ZRANGE", sim.KeyH("n"), "0", "-1"))
	if s.Do("TYPE", lock) == "string" {
		if value := fmt.Sprint(s.Do("GET", lock)); !strings.HasPrefix(value, "cooldown|") {
			there += " " + value + " "
		}
	}
	if slices.ContainsFunc(labels, func(label string) bool { return strings.Contains(there, label) }) {
		s.t.Errorf("it is left behind: %s", there)
	}
}
