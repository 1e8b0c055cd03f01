package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/test/support/waiting"
)

// A Client that never rests does not starve others on a quorum: none of them sees it granted
// a name more than ten times during one wait, and a free name is not idle.
func TestQuorumWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	for _, hold := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond} {
		for parties := 2; parties <= 3; parties++ {
			t.Run(fmt.Sprint(hold, " ", parties), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { quorumWaits(t, hold, parties) })
			})
		}
	}
}

func quorumWaits(t *testing.T, hold time.Duration, parties int) {
	const ttl = 5 * time.Second
	r := newRepublic(t, uint64(parties), 3)
	defer r.close()
	id := r.init(0, 1, 2)
	r.fate = r.rough(uint64(parties), 0)
	name := &waiting.Name{Capacity: 1}
	since := func() int64 { return int64(time.Since(r.began)) }
	var callers sync.WaitGroup
	var mu sync.Mutex
	stop := time.Now().Add(time.Minute)
	ask := func(p *party, work time.Duration) {
		c := &waiting.Call{Client: fmt.Sprint("p", p.number), Place: fmt.Sprint("p", p.number), Weight: 1, Asked: since()}
		b, err := p.lock(context.Background(), "n0")
		if err != nil {
			r.fault("p%d: %v", p.number, err)
			return
		}
		c.Got, c.Until, c.Token = since(), since(), b.lease.Token()
		r.sleep(work)
		c.Left = since()
		_ = p.release(b)
		mu.Lock()
		defer mu.Unlock()
		name.Calls = append(name.Calls, c)
	}
	for i := range parties {
		p, chance := r.join(id, ttl, 1, 0, 1, 2), rand.New(rand.NewPCG(uint64(i), 5))
		callers.Go(func() {
			for time.Now().Before(stop) {
				work := hold
				if i > 0 {
					work = 5 * time.Millisecond
					r.sleep(time.Duration(chance.Int64N(int64(3 * time.Second))))
				}
				ask(p, work)
			}
		})
	}
	callers.Wait()
	name.To = since()
	rules := waiting.PromisedByQuorum(ttl)
	found, longest := name.Idle(rules)
	for _, b := range found {
		t.Errorf("idle for %v from %v while %s waits, want %v at most", b.Length, time.Duration(b.From), b.Call.Client, b.Bound)
	}
	overtaken := name.Overtaken(rules)
	for _, b := range overtaken[:min(3, len(overtaken))] {
		t.Errorf("%s waited for %v and saw %s granted it %d times, want %d at most", b.Call.Client, time.Duration(b.Call.Until-b.Call.Asked), b.By.Client, b.Count, rules.Grants)
	}
	t.Logf("%d grants, idle for %v at most, %d waits behind more than %d grants", len(name.Calls), longest, len(overtaken), rules.Grants)
}
