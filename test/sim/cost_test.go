package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/contrib/gocronlock"
	"github.com/holdfast-go/holdfast/test/sim"
)

// What each primitive costs is counted here, and the table of the guide must agree:
// in a network where a round trip takes two milliseconds and nothing else takes any
// time, the duration of a call is its number of round trips.

const roundTrip = 2 * time.Millisecond

// meter counts what a client sends.
type meter struct {
	*sim.World
	t    *testing.T
	sent []string
}

// measure runs a scene in such a network, with a client and another one.
func measure(t *testing.T, scene func(m *meter, client, other *holdfast.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &meter{World: sim.NewWorld(1), t: t}
		defer m.Close()
		m.SetNetwork(func(step sim.Step) sim.Fate {
			if !step.Push && step.Kind != "subscribe" {
				m.sent = append(m.sent, step.Kind)
			}
			return sim.Fate{Out: roundTrip / 2, Back: roundTrip / 2}
		})
		options := holdfast.Options{TTL: 15 * time.Second}
		client, other := m.Process("a", options, 1).Client, m.Process("b", options, 1).Client
		scene(m, client, other)
	})
}

// trips is how many round trips f waits for.
func (m *meter) trips(f func() error) int {
	m.t.Helper()
	began := time.Now()
	err := f()
	took := time.Since(began)
	if err != nil {
		m.t.Fatal(err)
	}
	if took%roundTrip != 0 {
		m.t.Errorf("it took %v, which are no whole round trips", took)
	}
	return int(took / roundTrip)
}

// commands are those sent while f runs and just after.
func (m *meter) commands(f func()) []string {
	m.Atomically(func() { m.sent = nil })
	f()
	time.Sleep(50 * time.Millisecond)
	var sent []string
	m.Atomically(func() { sent = m.sent })
	return sent
}

// getAndGive is how many round trips it takes to get a lease and to give it back,
// in the form of the guide's table, and the number of all commands.
func getAndGive[L interface{ Release() error }](m *meter, get func(context.Context) (L, error)) (trips string, commands int) {
	m.t.Helper()
	sent := m.commands(func() {
		var lease L
		there := m.trips(func() (err error) {
			lease, err = get(m.t.Context())
			return err
		})
		time.Sleep(50 * time.Millisecond)
		trips = fmt.Sprintf("%d + %d", there, m.trips(lease.Release))
	})
	return trips, len(sent)
}

// documented wants a row of the guide's table to say so.
func documented(t *testing.T, what, cost string) {
	t.Helper()
	const page = "docs/guide/10-performance.md"
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`"+what+"`") {
			continue
		}
		found = true
		if got := strings.TrimSpace(cells[3]); !regexp.MustCompile("^" + regexp.QuoteMeta(cost) + "([,; ]|$)").MatchString(got) {
			t.Errorf("%s: %s costs %q, and was measured to cost %q", page, what, got, cost)
		}
	}
	if !found {
		t.Errorf("%s has no row of %s, which costs %s", page, what, cost)
	}
}

// Round trips to get a lease and to give it back, as the guide has them; and no
// command beyond them.
func TestCostOfLeases(t *testing.T) {
	measure(t, func(m *meter, c, _ *holdfast.Client) {
		for what, get := range map[string]func(context.Context) (*holdfast.Lease, error){
			"Mutex.Lock":        c.Mutex("mutex").Lock,
			"Semaphore.Acquire": func(ctx context.Context) (*holdfast.Lease, error) { return c.Semaphore("permits", 9).Acquire(ctx, 4) },
			"RWMutex.Lock":      c.RWMutex("write").Lock,
			"RLock":             c.RWMutex("read").RLock,
		} {
			trips, commands := getAndGive(m, get)
			documented(t, what, trips)
			if commands != 2 {
				t.Errorf("%s: %d commands, want 2", what, commands)
			}
		}
	})
}

// Several names that are free are one round trip, and one more for all to be given
// back, however many they are.
func TestCostOfSeveral(t *testing.T) {
	measure(t, func(m *meter, c, _ *holdfast.Client) {
		for _, names := range [][]string{{"a", "b"}, {"c", "d", "e", "f", "g", "h", "i"}} {
			trips, commands := getAndGive(m, c.Multi(names...).Lock)
			documented(t, "Client.Multi", trips)
			if commands != 1+len(names) {
				t.Errorf("%d names: %d commands, want %d", len(names), commands, 1+len(names))
			}
		}
	})
}

// MinHold is one round trip more than the lock, none where the first
// life of the lock key covers it; MaxHold none.
func TestCostOfHolding(t *testing.T) {
	measure(t, func(m *meter, c, _ *holdfast.Client) {
		for _, test := range []struct {
			what        string
			least, most time.Duration
			commands    int
		}{
			{"Mutex.MinHold", time.Hour, 0, 3}, {"", 10 * time.Second, 0, 2}, {"Mutex.MaxHold", 0, time.Hour, 2},
		} {
			mutex := c.Mutex(fmt.Sprint("hold", test.least))
			mutex.MinHold, mutex.MaxHold = test.least, test.most
			trips, commands := getAndGive(m, mutex.Lock)
			if test.what != "" {
				documented(t, test.what, trips)
			} else if trips != "1 + 1" {
				t.Errorf("MinHold within the ttl: %s round trips, want 1 + 1", trips)
			}
			if commands != test.commands {
				t.Errorf("%+v: %d commands", test, commands)
			}
		}
		var first int
		nothing := func(context.Context, *holdfast.Lease) error { return nil }
		sent := m.commands(func() {
			first = m.trips(func() error { return c.Once(m.t.Context(), "once", time.Hour, nothing) })
		})
		if len(sent) != first {
			t.Errorf("Once: %q, want %d commands", sent, first)
		}
		late := m.trips(func() error {
			if err := c.Once(m.t.Context(), "once", time.Hour, nothing); !errors.Is(err, holdfast.ErrNotDue) {
				return fmt.Errorf("got %w, want ErrNotDue", err)
			}
			return nil
		})
		documented(t, "Client.Once", fmt.Sprintf("%d; %d if it is not due", first, late))
	})
}

// A term costs the lock, and two commands to announce it and its end, of which only
// the first is waited for; then one each five minutes, besides renewals. An observer
// asks about five times a minute.
func TestCostOfElections(t *testing.T) {
	measure(t, func(m *meter, c, other *holdfast.Client) {
		election := c.Election("election")
		trips, commands := getAndGive(m, func(ctx context.Context) (*holdfast.Lease, error) { return election.Campaign(ctx, "here") })
		documented(t, "Election.Campaign", trips)
		if commands != 4 {
			t.Errorf("a term: %d commands, want 4", commands)
		}
		if trips := m.trips(func() error { _, err := election.Leader(m.t.Context()); return err }); trips != 1 {
			t.Errorf("Leader: %d round trips, want 1", trips)
		}

		lease, err := election.Campaign(m.t.Context(), "here")
		if err != nil {
			t.Fatal(err)
		}
		announced := 0
		for _, kind := range m.commands(func() { time.Sleep(time.Hour) }) {
			if kind == "election_announce" {
				announced++
			}
		}
		if announced < 11 || announced > 12 {
			t.Errorf("an hour of leading: %d announcements, want one each 5 min", announced)
		}
		ctx, cancel := context.WithCancel(m.t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			for _, err := range other.Election("election").Observe(ctx) {
				if err != nil {
					t.Error(err)
				}
			}
		}()
		looks := 0
		for _, kind := range m.commands(func() { time.Sleep(20 * time.Minute) }) {
			if kind == "election_leader" {
				looks++
			}
		}
		if perMinute := float64(looks) / 20; perMinute < 3.5 || perMinute > 6.5 {
			t.Errorf("an observer: %.1f commands a minute, want about 5", perMinute)
		}
		cancel()
		<-over
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}

// Orders, questions and handing on.
func TestCostOfOrders(t *testing.T) {
	measure(t, func(m *meter, c, other *holdfast.Client) {
		lock := func() *holdfast.Lease {
			lease, err := c.Mutex("n").Lock(m.t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
			return lease
		}
		holder := func() string {
			state, err := admin.Of(other).Inspect(m.t.Context(), "n")
			if err != nil {
				t.Fatal(err)
			}
			return state.Holder.Hash
		}
		lease := lock()
		documented(t, "Lease.EnsureHeld", fmt.Sprint(m.trips(func() error { return lease.EnsureHeld(m.t.Context()) })))
		documented(t, "Lease.Eval", fmt.Sprint(m.trips(func() error {
			_, err := lease.Eval(m.t.Context(), "return 1", nil, nil)
			return err
		})))
		hash := holder()
		documented(t, "Admin.Revoke", fmt.Sprint(m.trips(func() error {
			_, err := admin.Of(other).Revoke(m.t.Context(), "n", hash, "test")
			return err
		})))
		time.Sleep(50 * time.Millisecond)
		_ = lease.Release() // it was revoked

		lease = lock()
		hash = holder()
		documented(t, "Admin.Steal", fmt.Sprint(m.trips(func() error { return admin.Of(other).Steal(m.t.Context(), "n", hash, "test") })))
		time.Sleep(50 * time.Millisecond)
		_ = lease.Release()

		lease = lock()
		hash = holder()
		var thief *holdfast.Lease
		documented(t, "Mutex.Steal", fmt.Sprint(m.trips(func() (err error) {
			thief, err = other.Mutex("n").Steal(m.t.Context(), hash, "test")
			return err
		})))
		time.Sleep(50 * time.Millisecond)
		_ = lease.Release()
		_ = thief.Release()

		lease = lock()
		var text string
		export := m.trips(func() (err error) {
			text, err = lease.Export()
			return err
		})
		adopt := m.trips(func() (err error) {
			lease, err = other.Adopt(m.t.Context(), text)
			return err
		})
		documented(t, "Client.Adopt", fmt.Sprintf("%d + %d", export, adopt))
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}

// A tick costs each instance one round trip, and who runs it one or two more.
func TestCostOfTicks(t *testing.T) {
	measure(t, func(m *meter, c, other *holdfast.Client) {
		for hold, want := range map[time.Duration]int{0: 2, time.Hour: 3} {
			options := &gocronlock.Options{MinHold: hold, Prefix: hold.String()}
			runs := m.commands(func() {
				lock, err := gocronlock.NewLocker(c, options).Lock(m.t.Context(), "tick")
				if err == nil {
					err = lock.Unlock(m.t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
			skips := m.commands(func() {
				_, err := gocronlock.NewLocker(other, options).Lock(m.t.Context(), "tick")
				if held, ok := errors.AsType[*holdfast.HeldError](err); !ok || !held.Cooldown || held.Owner != "a" {
					t.Errorf("the other: got %v, want that it cools down after a", err)
				}
			})
			if len(runs) != want || len(skips) != 1 {
				t.Errorf("MinHold %v: %q to run, %q to skip; want %d and 1", hold, runs, skips, want)
			}
		}
		documented(t, "gocronlock", "1 for each tick and instance")
	})
}

// Waiting costs a few commands a second for a name; they grow with the logarithm of
// the queue, as docs/protocol.md says: n waiters whose time to look comes after p send
// 20 x ln(1 + n x 50 ms / p), and the head of a shared kind asks every 667 ms.
func TestCostOfWaiting(t *testing.T) {
	const waiters = 25
	for what, lock := range map[string]func(*holdfast.Client) (*holdfast.Lease, error){
		"Mutex":   func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").Lock(context.Background()) },
		"RWMutex": func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").Lock(context.Background()) },
		"Semaphore": func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Semaphore("n", 3).Acquire(context.Background(), 3)
		},
	} {
		measure(t, func(m *meter, c, _ *holdfast.Client) {
			lease, err := lock(c)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			for n := range waiters {
				client := m.Process(fmt.Sprint("w", n), holdfast.Options{TTL: 15 * time.Second}, 1).Client
				go func() {
					lease, err := lock(client)
					if err == nil {
						err = lease.Release()
					}
					done <- err
				}()
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(20 * time.Second)
			asked := 0
			for _, kind := range m.commands(func() { time.Sleep(30 * time.Second) }) {
				if strings.HasSuffix(kind, "lock") {
					asked++
				}
			}
			perSecond := float64(asked) / 30
			t.Logf("%s: %d wait, %.1f commands a second", what, waiters, perSecond)
			most := 20*math.Log(1+waiters*0.05/12.5) + 3.5 + 0.5 // 3.5 for the early looks near the front
			if what != "Mutex" {
				most = 20*math.Log(1+waiters*0.05/1.67) + 1.5 + 0.5
			}
			if perSecond > most {
				t.Errorf("%s: %d waiters cost %.1f commands a second, want %.1f at most", what, waiters, perSecond, most)
			}
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
			for range waiters {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
