package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
)

// yielding plays a scene on a quorum of five whose requests take up to 2 ms each way.
func yielding(t *testing.T, seed uint64, scene func(t *testing.T, r *republic, join func() *party)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, seed, 5)
		defer r.close()
		id := r.init(0, 1, 2, 3, 4)
		r.passing(r.rough(seed, 0))
		scene(t, r, func() *party { return r.join(id, 15*time.Second, 1, 0, 1, 2, 3, 4) })
	})
}

// loop takes, holds and gives back, again and again, until ctx ends.
func (p *party) loop(ctx context.Context, hold time.Duration, take func(context.Context) (*holdfast.Lease, error)) {
	for ctx.Err() == nil {
		b, err := p.lockBy(ctx, "n", take)
		switch {
		case errors.Is(err, holdfast.ErrHeld):
			p.r.sleep(time.Millisecond)
		case err == nil:
			p.r.sleep(hold)
			_ = p.release(b)
		}
	}
}

// A process in a loop, whatever it locks by, leaves the name to one that asks at random
// moments: that one waits for what is left of the hold and for its own next poll.
func TestQuorumLoopYields(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	seeds := uint64(1)
	if long() {
		seeds = 3
	}
	ways := []struct {
		name   string
		rounds uint64
		holds  []time.Duration
		take   func(p *party, hold time.Duration) func(context.Context) (*holdfast.Lease, error)
	}{
		{"Lock", seeds, []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond}, func(p *party, _ time.Duration) func(context.Context) (*holdfast.Lease, error) {
			return p.client.Mutex("n").Lock
		}},
		{"TryLock", 1, []time.Duration{50 * time.Millisecond}, func(p *party, _ time.Duration) func(context.Context) (*holdfast.Lease, error) {
			return p.client.Mutex("n").TryLock
		}},
		{"MaxHold", 1, []time.Duration{50 * time.Millisecond}, func(p *party, hold time.Duration) func(context.Context) (*holdfast.Lease, error) {
			m := p.client.Mutex("n")
			m.MaxHold = hold - time.Millisecond
			return m.Lock
		}},
		{"Campaign", 1, []time.Duration{50 * time.Millisecond}, func(p *party, _ time.Duration) func(context.Context) (*holdfast.Lease, error) {
			return func(ctx context.Context) (*holdfast.Lease, error) {
				return p.client.Election("n").Campaign(ctx, "")
			}
		}},
	}
	for _, way := range ways {
		for _, hold := range way.holds {
			for seed := range way.rounds {
				t.Run(fmt.Sprint(way.name, "/", hold, "/", seed), func(t *testing.T) {
					yielding(t, seed, func(t *testing.T, r *republic, join func() *party) {
						a, b := join(), join()
						ctx, stop := context.WithCancel(t.Context())
						r.moving.Go(func() { a.loop(ctx, hold, way.take(a, hold)) })
						waits := b.asks(t, 50, 2*hold+300*time.Millisecond, rand.New(rand.NewPCG(seed, 26)))
						stop()
						if got, want := waits[25], hold/2+250*time.Millisecond; got > want {
							t.Errorf("median of 50 waits: got %v, want at most %v", got, want)
						}
						if got, want := waits[49], hold+1500*time.Millisecond; got > want {
							t.Errorf("longest of 50 waits: got %v, want at most %v", got, want)
						}
						t.Logf("median %v, longest %v", waits[25], waits[49])
					})
				})
			}
		}
	}
}

// asks locks so often, at random moments, and tells how long each wait was, the shortest first.
func (p *party) asks(t *testing.T, times int, apart time.Duration, chance *rand.Rand) (waits []time.Duration) {
	for range times {
		p.r.sleep(time.Duration(chance.Int64N(int64(apart))))
		began := time.Now()
		b := p.must(t, "n")
		waits = append(waits, time.Since(began))
		_ = p.release(b)
	}
	slices.Sort(waits)
	return waits
}

// Processes in loops take turns: while one waits, no other is granted the name more than
// ten times.
func TestQuorumLoopsTakeTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for _, test := range []struct {
		processes, callers int
		hold               time.Duration
		least              int // grants in 5 s
		always             bool
	}{
		{5, 1, 0, 25, true},
		{5, 1, 100 * time.Millisecond, 25, true},
		{2, 1, 0, 25, true},
		{3, 1, 0, 25, false},
		{2, 4, 0, 100, false},
		{3, 4, time.Millisecond, 100, true},
	} {
		if !test.always && !long() {
			continue
		}
		lasts, least := 5*time.Second, test.least
		if long() {
			lasts, least = 2*lasts, 2*least
		}
		t.Run(fmt.Sprint(test.processes, "/", test.callers, "/", test.hold), func(t *testing.T) {
			yielding(t, 5, func(t *testing.T, r *republic, join func() *party) {
				n := test.processes
				ctx, stop := context.WithCancel(t.Context())
				passed := make([][][]int, n) // since a caller of i waits, grants to k
				most, grants := 0, 0
				for i := range n {
					p := join()
					passed[i] = make([][]int, test.callers)
					for caller := range test.callers {
						r.moving.Go(func() {
							p.loop(ctx, test.hold, func(ctx context.Context) (*holdfast.Lease, error) {
								r.mu.Lock()
								passed[i][caller] = make([]int, n)
								r.mu.Unlock()
								lease, err := p.client.Mutex("n").Lock(ctx)
								r.mu.Lock()
								defer r.mu.Unlock()
								for k := range n {
									for c, seen := range passed[k] {
										if seen != nil && err == nil && k != i {
											seen[i]++
											most = max(most, passed[k][c][i])
										}
									}
								}
								if err == nil {
									passed[i][caller] = nil
									grants++
								}
								return lease, err
							})
						})
					}
				}
				r.sleep(lasts)
				stop()
				r.mu.Lock()
				defer r.mu.Unlock()
				t.Logf("%d grants, %d at most to one other in a wait", grants, most)
				if most > 10 || grants < least {
					t.Errorf("%d grants, %d of them to one other in one wait; want %d grants or more and 10 at most", grants, most, least)
				}
			})
		})
	}
}

// A process that is alone with its name has it again at once. One whose waiter died pauses
// once for it, and a TryLock of another process is no waiter.
func TestQuorumLoneLoopDoesNotPause(t *testing.T) {
	yielding(t, 1, func(t *testing.T, r *republic, join func() *party) {
		a, b := join(), join()
		const again = 16 * time.Millisecond // lock, with one split, and no pause
		round := func() time.Duration {
			began := time.Now()
			held := a.must(t, "n")
			took := time.Since(began)
			r.sleep(10 * time.Millisecond)
			if _, err := b.client.Mutex("n").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("TryLock: got %v, want held", err)
			}
			r.sleep(5 * time.Millisecond) // no vote of b is under way
			_ = a.release(held)
			return took
		}
		for range 100 {
			if took := round(); took > again {
				t.Errorf("alone: locked again after %v, want %v at most", took, again)
			}
		}
		held := a.must(t, "n")
		b.never(t, "n", 20*time.Millisecond) // one poll, and it gives up
		_ = a.release(held)
		if took := round(); took < 50*time.Millisecond || took > 200*time.Millisecond {
			t.Errorf("after a waiter has gone: locked again after %v, want one pause", took)
		}
		for range 10 {
			if took := round(); took > again {
				t.Errorf("alone again: locked after %v, want %v at most", took, again)
			}
		}
	})
}

// Candidates of one Client take turns, though no node knows that they belong to one Client.
func TestQuorumCandidatesOfOneClientTakeTurns(t *testing.T) {
	yielding(t, 3, func(t *testing.T, r *republic, join func() *party) {
		const hold = 50 * time.Millisecond
		p := join()
		ctx, stop := context.WithCancel(t.Context())
		r.moving.Go(func() {
			p.loop(ctx, hold, func(ctx context.Context) (*holdfast.Lease, error) {
				return p.client.Election("n").Campaign(ctx, "in a loop")
			})
		})
		for range 20 {
			r.sleep(time.Duration(r.random.Int64N(int64(time.Second))))
			began := time.Now()
			b, err := p.lockBy(ctx, "n", func(ctx context.Context) (*holdfast.Lease, error) {
				return p.client.Election("n").Campaign(ctx, "now and then")
			})
			if err != nil {
				t.Fatal(err)
			}
			if took, want := time.Since(began), hold+500*time.Millisecond; took > want {
				t.Errorf("elected after %v, want %v at most", took, want)
			}
			_ = p.release(b)
		}
		stop()
	})
}

// A mark that some other program left there for an hour costs a second at most.
func TestQuorumForeignMark(t *testing.T) {
	yielding(t, 4, func(t *testing.T, r *republic, join func() *party) {
		p := join()
		held := p.must(t, "n")
		for _, n := range r.nodes {
			n.do(t, "SET", "holdfast/wanted:{sim:n}", "theirs", "PX", "3600000")
		}
		_ = p.release(held)
		began := time.Now()
		_ = p.release(p.must(t, "n"))
		if took := time.Since(began); took < 100*time.Millisecond || took > time.Second {
			t.Errorf("locked again after %v, want a pause of a second at most", took)
		}
	})
}
