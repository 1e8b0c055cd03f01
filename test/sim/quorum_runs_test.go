package sim_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// Every run of a quorum keeps S1 and S2, but for a ttl behind a jump, and ends with a name that everybody
// can lock and that nobody has left behind: nodes freeze, die, restart with and
// without what they wrote, their clocks are apart and drift; messages are lost,
// doubled, late, refused; processes fall silent, in one direction or both.
func TestQuorumRandomRuns(t *testing.T) {
	randomRuns(t, "quorum")
}

func quorumRun(t *testing.T, seed uint64, plan *sim.Plan) outcome {
	n := 3 + 2*int(seed%2)
	r := newRepublic(t, seed, n)
	r.plan = plan
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
	r.fate = r.rough(seed, seed/8%3)
	ttl := []time.Duration{500 * time.Millisecond, 2 * time.Second, 15 * time.Second}[r.random.IntN(3)]
	for range 2 + r.random.IntN(4) {
		r.join(id, ttl, 1+(r.random.Float64()-0.5)*0.008, everyone...)
	}
	end := time.Now().Add(45 * time.Second)
	var callers sync.WaitGroup
	for _, p := range r.parties {
		for k := range 1 + r.random.IntN(2) {
			own, where := r.random.Uint64(), fmt.Sprintf("p%d.%d", p.number, k)
			if plan.May("process", where) {
				callers.Go(func() { p.live(t.Context(), own, where, ttl, end) })
			}
		}
	}
	callers.Go(func() { r.trouble(rand.New(rand.NewPCG(seed, 3)), end) })
	callers.Wait()
	r.peace(t, ttl)
	r.end()
	r.tally.Runs++
	return outcome{r.broken, plan.Happened(), strings.Join(r.trace, "\n") + "\n", r.tally, &r.tape}
}

// rough is a network that delays, loses, doubles.
func (r *republic) rough(seed, level uint64) func(way) passage {
	seen := map[string]int{}
	return func(w way) passage {
		nonce := "" // so that the order of what is sent at one instant says nothing
		for _, a := range w.args[:min(1, len(w.args))] {
			if part := strings.SplitN(a, ".", 3); len(part) == 3 {
				nonce = part[1][:min(8, len(part[1]))]
			}
		}
		where := fmt.Sprintf("p%d.%s.%d.%s", w.party, sim.CanonicalScript(w.kind), w.node, nonce)
		n := seen[where]
		seen[where]++
		h := fnv.New64a()
		_, _ = h.Write([]byte(where))
		chance := rand.New(rand.NewPCG(seed+h.Sum64(), uint64(n)))
		delay := func() time.Duration {
			d := time.Duration(chance.Int64N(int64(2*time.Millisecond))) + 1
			if level > 0 && chance.IntN(50) == 0 {
				d += time.Duration(chance.Int64N(int64(3 * time.Second)))
			}
			return d
		}
		f := passage{out: delay(), back: delay(), home: 1 + time.Duration(chance.Int64N(int64(time.Microsecond)))}
		if level > 1 {
			f.loseOut = chance.IntN(40) == 0
			f.loseBack = chance.IntN(40) == 0
			f.reset = chance.IntN(2) == 0
			switch chance.IntN(40) {
			case 0:
				f.again = 1 + time.Duration(chance.Int64N(int64(20*time.Second)))
			case 1:
				f.twice = true
			case 2:
				f.torn = true
			case 3:
				f.refuse = "LOADING Redis is loading the dataset in memory"
			}
		}
		words := f.fate().Words()
		if f.ordinary() || !r.plan.May(words[0], fmt.Sprint(where, ".", n)) {
			return passage{out: min(f.out, 2*time.Millisecond), back: min(f.back, 2*time.Millisecond), home: f.home}
		}
		return f
	}
}

// live is a caller: it locks, works for a while, gives back.
func (p *party) live(ctx context.Context, own uint64, where string, ttl time.Duration, end time.Time) {
	for i := 0; time.Now().Before(end); i++ {
		chance := rand.New(rand.NewPCG(own, uint64(i)))
		name := fmt.Sprint("n", chance.IntN(2))
		within, cancel := context.WithTimeout(ctx, time.Duration(1+chance.IntN(30))*time.Second)
		var b *belief
		err := errNotNow
		if p.r.plan.May("call", fmt.Sprint(where, ".", i)) {
			b, err = p.ask(within, name, chance)
		}
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
	jumps, forward := chance.IntN(2) == 0, time.Duration(0)
	for i := 0; time.Now().Before(end); i++ {
		r.sleep(time.Duration(chance.Int64N(int64(6 * time.Second))))
		n := r.nodes[chance.IntN(len(r.nodes))]
		d := time.Duration(chance.Int64N(int64(10 * time.Second)))
		k := chance.IntN(len(calamities))
		if k == 6 && !jumps || !r.plan.May(calamities[k], fmt.Sprint("t", i)) {
			continue
		}
		r.tally.Fault(calamities[k])
		switch k {
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
			r.deafen(p, true, true)
			r.sleep(d)
			r.deafen(p, false, false)
		case 4, 5:
			p := r.parties[chance.IntN(len(r.parties))]
			r.deafen(p, k == 4, k == 5)
			r.sleep(d)
			r.deafen(p, false, false)
		case 6: // fewer than a majority; see leaping
			step := time.Duration(chance.Int64N(int64(20*time.Second))) - 10*time.Second
			if forward += max(step, 0); forward < 30*time.Second {
				r.jump(r.nodes[chance.IntN(len(r.nodes)/2)], step)
			}
		}
	}
}

// calamities are what can befall a node or a process.
var calamities = []string{"node frozen", "node restarted", "node emptied", "silence", "nothing out", "nothing in", "node's clock jumps"}

var errNotNow = errors.New("not in this run")

// ask locks in one of the ways that a quorum knows.
func (p *party) ask(ctx context.Context, name string, chance *rand.Rand) (*belief, error) {
	mutex := p.client.Mutex(name)
	how, take := "Lock", mutex.Lock
	switch chance.IntN(6) {
	case 0:
		how, take = "TryLock", mutex.TryLock
	case 1:
		how = "Campaign"
		take = func(ctx context.Context) (*holdfast.Lease, error) {
			return p.client.Election(name).Campaign(ctx, "a random run")
		}
	case 2:
		mutex.MaxHold = 100 * time.Millisecond
		how = "MaxHold"
	}
	b, err := p.lockBy(ctx, name, take)
	ended := ": done"
	if err != nil {
		ended = ": refused"
	}
	p.r.tally.Operation("quorum " + how + ended)
	return b, err
}

// jump sets a node's clock.
func (r *republic) jump(n *citizen, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.jumped.Add(int64(d))
	if d > 0 {
		r.leapt = time.Now()
	}
	r.log("node%d's clock jumps by %v", n.number, d)
}

func (r *republic) deafen(p *party, mute, deaf bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.mute, p.deaf = mute, deaf
	r.log("p%d mute=%v deaf=%v", p.number, mute, deaf)
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
				r.fault("in peace: p%d can't lock %s: %v", p.number, name, err)
				continue
			}
			if err := p.release(b); err != nil {
				r.fault("in peace: p%d can't release %s: %v", p.number, name, err)
			}
		}
	}
	r.sleep(ttl + time.Second)
	for _, n := range r.nodes {
		for _, name := range []string{"n0", "n1"} {
			if got := n.do(t, "EXISTS", "sim:"+name); fmt.Sprint(got) != "0" {
				r.fault("L2: node%d still has %s a ttl after the last release", n.number, name)
			}
		}
	}
}

// staysWithout watches that nodes 0 and 1 do not get a name for a while, not even for
// a moment: what is repaired may be given back soon.
func (r *republic) staysWithout(t *testing.T, name string, d time.Duration) {
	t.Helper()
	for range d / time.Millisecond {
		r.sleep(time.Millisecond)
		if r.has(0, name)+r.has(1, name) != "" {
			t.Fatal("a node was repaired for a minority")
		}
	}
}
