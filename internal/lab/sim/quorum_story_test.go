package sim_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	quorumSeeds = flag.Uint64("sim.quorumseeds", someSeeds/125, "how many stories of quorums to run")
	quorumSeed  = flag.Int64("sim.quorumseed", -1, "run only this one")
)

// Every story of a quorum keeps S1 and S2, and ends with a name that everybody
// can lock and that nobody has left behind: nodes freeze, die, restart with and
// without what they wrote, their clocks are apart and drift; messages are lost,
// doubled, late; processes fall silent.
func TestQuorumStories(t *testing.T) {
	if *quorumSeed >= 0 {
		synctest.Test(t, func(t *testing.T) { quorumStory(t, uint64(*quorumSeed)) })
		return
	}
	for seed := uint64(0); seed < *quorumSeeds && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) { quorumStory(t, seed) })
		if t.Failed() {
			t.Errorf("story %d", seed)
		}
	}
}

func quorumStory(t *testing.T, seed uint64) {
	n := 3 + 2*int(seed%2)
	r := newRepublic(t, seed, n)
	defer r.close()
	apart := []time.Duration{0, 10 * time.Millisecond, 2 * time.Second, 20 * time.Second}[seed/2%4]
	everyone := make([]int, n)
	for i, node := range r.nodes {
		everyone[i] = i
		node.rate = 1 + (r.random.Float64()-0.5)*0.008
		if apart > 0 {
			node.ahead = time.Duration(r.random.Int64N(int64(apart)))
		}
	}
	id := r.init(everyone...)
	r.fate = rough(rand.New(rand.NewPCG(seed, 1)), seed/8%3)
	ttl := []time.Duration{500 * time.Millisecond, 2 * time.Second, 15 * time.Second}[r.random.IntN(3)]
	for range 2 + r.random.IntN(4) {
		r.join(id, ttl, 1+(r.random.Float64()-0.5)*0.008, everyone...)
	}
	end := time.Now().Add(45 * time.Second)
	var callers sync.WaitGroup
	for _, p := range r.parties {
		for range 1 + r.random.IntN(2) {
			chance := rand.New(rand.NewPCG(r.random.Uint64(), 2))
			callers.Go(func() { p.live(t.Context(), chance, ttl, end) })
		}
	}
	callers.Go(func() { r.trouble(rand.New(rand.NewPCG(seed, 3)), end) })
	callers.Wait()
	r.peace(t, ttl)
}

// rough is a network that delays, loses, doubles.
func rough(chance *rand.Rand, level uint64) func(way) passage {
	return func(way) passage {
		delay := func() time.Duration {
			d := time.Duration(chance.Int64N(int64(2*time.Millisecond))) + 1
			if level > 0 && chance.IntN(50) == 0 {
				d += time.Duration(chance.Int64N(int64(3 * time.Second)))
			}
			return d
		}
		f := passage{out: delay(), back: delay()}
		if level > 1 {
			f.loseOut = chance.IntN(40) == 0
			f.loseBack = chance.IntN(40) == 0
			if chance.IntN(30) == 0 {
				f.again = time.Duration(chance.Int64N(int64(20 * time.Second)))
			}
		}
		return f
	}
}

// live is a caller: it locks, works for a while, gives back.
func (p *party) live(ctx context.Context, chance *rand.Rand, ttl time.Duration, end time.Time) {
	for time.Now().Before(end) {
		name := fmt.Sprint("n", chance.IntN(2))
		within, cancel := context.WithTimeout(ctx, time.Duration(1+chance.IntN(30))*time.Second)
		b, err := p.lock(within, name)
		cancel()
		if err == nil {
			p.r.sleep(time.Duration(chance.Int64N(int64(ttl))) / time.Duration(1+chance.IntN(50)))
			_ = p.release(b) // it may have been lost
		}
		p.r.sleep(time.Duration(chance.Int64N(int64(300 * time.Millisecond))))
	}
}

// trouble befalls a node, or a process, at a time.
func (r *republic) trouble(chance *rand.Rand, end time.Time) {
	for time.Now().Before(end) {
		r.sleep(time.Duration(chance.Int64N(int64(6 * time.Second))))
		n := r.nodes[chance.IntN(len(r.nodes))]
		d := time.Duration(chance.Int64N(int64(10 * time.Second)))
		switch chance.IntN(4) {
		case 0:
			r.freeze(n)
			r.sleep(d)
			r.thaw(n)
		case 1:
			r.bounce(n, d, false)
		case 2:
			r.bounce(n, d/8, true)
		case 3:
			p := r.parties[chance.IntN(len(r.parties))]
			r.deafen(p, true)
			r.sleep(d)
			r.deafen(p, false)
		}
	}
}

func (r *republic) deafen(p *party, deaf bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.deaf = deaf
	r.log("p%d deaf=%v", p.number, deaf)
}

// peace checks what must hold when all is well again: everybody gets the name,
// and a ttl later nothing of it is left anywhere.
func (r *republic) peace(t *testing.T, ttl time.Duration) {
	r.mu.Lock()
	r.fate = nil
	if r.wins == 0 {
		r.violation("nobody ever won")
	}
	r.mu.Unlock()
	r.sleep(90 * time.Second) // sitting out, late messages
	for _, p := range r.parties {
		for _, name := range []string{"n0", "n1"} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			b, err := p.lock(ctx, name)
			cancel()
			if err != nil {
				r.note("p%d: %v", p.number, err)
				t.Errorf("in peace p%d can't lock %s: %v", p.number, name, err)
				continue
			}
			if err := p.release(b); err != nil {
				t.Errorf("in peace p%d can't release %s: %v", p.number, name, err)
			}
		}
	}
	r.sleep(ttl + time.Second)
	for _, n := range r.nodes {
		for _, name := range []string{"n0", "n1"} {
			if got := n.do(t, "EXISTS", "sim:"+name); fmt.Sprint(got) != "0" {
				t.Errorf("node%d still has %s a ttl after the last release", n.number, name)
			}
		}
	}
}
