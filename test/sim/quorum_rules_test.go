package sim_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/quorum"
)

// Each test here breaks one thing, and fails when what helps against that is
// taken out; docs/quorum.md names them.

// assemble plays a scene on a quorum of three, in which nothing goes by itself.
func assemble(t *testing.T, scene func(t *testing.T, r *republic, id string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, 1, 3)
		defer r.close()
		scene(t, r, r.init(0, 1, 2))
	})
}

// cut lets nothing pass between the pairs party-node.
func (r *republic) cut(pairs ...[2]int) {
	r.passing(func(w way) (p passage) {
		p.loseOut = slices.Contains(pairs, [2]int{w.party, w.node})
		return p
	})
}

func (r *republic) passing(fate func(way) passage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fate = fate
}

func (p *party) must(t *testing.T, name string) *belief {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := p.lock(ctx, name)
	if err != nil {
		t.Fatalf("p%d locks %s: %v\n%s", p.number, name, err, strings.Join(p.r.trace, "\n"))
	}
	return b
}

// never wants a lock not to be won within a time.
func (p *party) never(t *testing.T, name string, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if b, err := p.lock(ctx, name); err == nil {
		t.Errorf("p%d holds %s, token %d; want that it can't for %v", p.number, name, b.lease.Token(), within)
	}
}

func (r *republic) has(node int, name string) string {
	if value, ok := r.nodes[node].do(r.t, "GET", "sim:"+name).(string); ok {
		return value
	}
	return ""
}

// A vote that arrives when the tenure is over is taken back.
func TestQuorumLateVoteIsUndone(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.passing(func(w way) (p passage) {
			if w.node == 2 && w.kind == "quorum_lock" {
				p.out = time.Second
			}
			return p
		})
		p := r.join(id, 15*time.Second, 1, 0, 1, 2)
		if err := p.release(p.must(t, "n")); err != nil {
			t.Errorf("release: %v", err)
		}
		r.sleep(3 * time.Second)
		if got := r.has(2, "n"); got != "" {
			t.Errorf("node 2 has %q, want nothing\n%s", got, strings.Join(r.trace, "\n"))
		}
	})
}

// No id is asked for twice: a late release of a try would undo the next one.
func TestQuorumIDServesOneTry(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		holder := r.join(id, 5*time.Second, 1, 0, 1, 2)
		waiter := r.join(id, 5*time.Second, 1, 0, 1, 2)
		b := holder.must(t, "n")
		asked := map[string]int{}
		r.passing(func(w way) passage {
			if w.kind == "quorum_lock" {
				asked[w.args[0]+" of node "+strconv.Itoa(w.node)]++
			}
			return passage{}
		})
		waiter.never(t, "n", 3*time.Second)
		_ = holder.release(b)
		waiter.must(t, "n")
		if len(asked) < 10 {
			t.Errorf("%d votes were asked for, want some tries", len(asked))
		}
		for vote, times := range asked {
			if times > 1 {
				t.Errorf("%s was asked for %d times", short([]string{vote}), times)
			}
		}
	})
}

// Nodes whose clocks are apart give different tokens; the largest is written
// back, or the next majority gives a lower one.
func TestQuorumRaisesTokens(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.nodes[0].ahead = 20 * time.Second
		a := r.join(id, 5*time.Second, 1, 0, 1, 2)
		b := r.join(id, 5*time.Second, 1, 0, 1, 2)
		r.cut([2]int{0, 2}, [2]int{1, 0})
		for range 3 {
			_ = a.release(a.must(t, "n"))
			_ = b.release(b.must(t, "n"))
		}
	})
}

// A raise that is lost does not count.
func TestQuorumRaiseMustBeAnswered(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.nodes[0].ahead = 20 * time.Second
		a := r.join(id, 2*time.Second, 1, 0, 1, 2)
		b := r.join(id, 2*time.Second, 1, 0, 1, 2)
		r.passing(func(w way) (p passage) {
			p.loseOut = w.party == 0 && (w.node == 2 || w.kind == "quorum_raise") || w.party == 1 && w.node == 0
			return p
		})
		a.never(t, "n", 10*time.Second)
		_ = b.release(b.must(t, "n"))
	})
}

// A node that forgot its vote sits out until that is over.
func TestQuorumForgetfulNodeDoesNotVote(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		a := r.join(id, 15*time.Second, 1, 0, 1, 2)
		b := r.join(id, 15*time.Second, 1, 0, 1, 2)
		r.cut([2]int{0, 2}, [2]int{1, 0})
		held := a.must(t, "n")
		a.deafened()
		r.bounce(r.nodes[1], 10*time.Millisecond, true)
		for held.lease.Remaining() > 0 {
			b.never(t, "n", time.Second)
		}
		b.never(t, "n", 10*time.Second)
		r.sleep(35 * time.Second)
		_ = b.release(b.must(t, "n")) // a minute after the restart
	})
}

// deafened: from now on nothing of it arrives.
func (p *party) deafened() { p.r.deafen(p, true, true) }

// A node that lacks the lock gets it again while the majority has it, and a
// majority that lacks it is the end.
func TestQuorumRepairsOnlyUnderMajority(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.passing(func(w way) (p passage) {
			if w.node < 2 { // node 2, which has it to the end, answers first
				p.back = 10 * time.Millisecond
			}
			return p
		})
		p := r.join(id, 6*time.Second, 1, 0, 1, 2)
		b := p.must(t, "n")
		r.sleep(200 * time.Millisecond) // all three have heard of it
		r.nodes[1].do(t, "DEL", "sim:n")
		r.sleep(3 * time.Second)
		if r.has(1, "n") == "" {
			t.Error("node 1 was not repaired")
		}
		r.nodes[0].do(t, "DEL", "sim:n")
		r.nodes[1].do(t, "DEL", "sim:n")
		r.staysWithout(t, "n", 3*time.Second)
		var lost *holdfast.LostError
		if err := b.lease.Err(); !errors.As(err, &lost) || lost.Cause != holdfast.Gone {
			t.Errorf("lease: got %v, want lost: gone", err)
		}
		for i := range r.nodes {
			if got := r.has(i, "n"); got != "" {
				t.Errorf("node %d has %q, want nothing", i, got)
			}
		}
	})
}

// A minority does not renew a lease.
func TestQuorumMinorityDoesNotRenew(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		a := r.join(id, 6*time.Second, 1, 0, 1, 2)
		b := r.join(id, 6*time.Second, 1, 0, 1, 2)
		held := a.must(t, "n")
		r.cut([2]int{0, 1}, [2]int{0, 2})
		_ = b.release(b.must(t, "n"))
		if err := held.lease.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("lease: got %v, want lost", err)
		}
	})
}

// The lease begins before the first node was asked.
func TestQuorumStartIsBeforeTheSend(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.passing(func(w way) (p passage) {
			p.back = time.Second
			return p
		})
		p := r.join(id, 6*time.Second, 1, 0, 1, 2)
		if got := p.must(t, "n").lease.Remaining(); got > 5*time.Second {
			t.Errorf("remaining: got %v of 6 s, a second after asking", got)
		}
	})
}

// Two addresses of one server are one vote.
func TestQuorumCountsServersOnce(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.cut([2]int{0, 2})
		p := r.join(id, 500*time.Millisecond, 1, 0, 0, 2)
		_, err := p.lock(t.Context(), "n")
		var why *holdfast.QuorumError
		if !errors.As(err, &why) || !errors.Is(err, holdfast.ErrUnreachable) || !strings.Contains(err.Error(), "same server as node 1") {
			t.Errorf("got %v, want unreachable, with the two that are one", err)
		}
	})
}

// Who waited in the queue when the tenure was won is served; then others come in.
func TestQuorumServesLocalWaiters(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		a := r.join(id, 5*time.Second, 1, 0, 1, 2)
		b := r.join(id, 5*time.Second, 1, 0, 1, 2)
		stop := time.Now().Add(20 * time.Second)
		for range 3 { // callers of a never end
			r.moving.Go(func() {
				for time.Now().Before(stop) {
					if held, err := a.lock(t.Context(), "n"); err == nil {
						r.sleep(10 * time.Millisecond)
						_ = a.release(held)
					}
				}
			})
		}
		r.sleep(time.Second)
		for range 5 {
			_ = b.release(b.must(t, "n"))
		}
		if left := time.Until(stop); left <= 0 {
			t.Errorf("b got its turns only when a had ended")
		}
		r.sleep(25 * time.Second)
	})
}

// Nodes that are down answer first; a name that is held is held all the same.
func TestQuorumHeldBesideTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, 3, 5)
		defer r.close()
		id := r.init(0, 1, 2, 3, 4)
		holder := r.join(id, time.Second, 1, 0, 1, 2, 3, 4)
		waiter := r.join(id, time.Second, 1, 0, 1, 2, 3, 4)
		r.passing(func(w way) (p passage) {
			if w.node < 3 {
				p.back = time.Duration(1+w.node) * time.Millisecond
			}
			return p
		})
		r.setDown(true, 3, 4)
		b := holder.must(t, "n")
		began := time.Now()
		if _, err := waiter.client.Mutex("n").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) || time.Since(began) > 100*time.Millisecond {
			t.Errorf("TryLock: got %v after %v, want held at once", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // far beyond the patience with a store that is down
		defer cancel()
		if _, err := waiter.lock(ctx, "n"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock: got %v, want that it waits", err)
		}
		_ = holder.release(b)
	})
}

// Four that split the votes come to an end within a few tries each.
func TestQuorumSplitVotesEnd(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		first := true
		r.passing(func(w way) (p passage) {
			// Each reaches its own favourite first.
			p.out = time.Millisecond
			if w.node != w.party%3 {
				p.out = 2 * time.Millisecond
			}
			return p
		})
		done := make(chan time.Duration, 4)
		for range 4 {
			p := r.join(id, 5*time.Second, 1, 0, 1, 2)
			go func() {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				b, err := p.lock(ctx, "n")
				done <- time.Since(began)
				if err != nil {
					t.Errorf("p%d: %v", p.number, err)
					return
				}
				_ = p.release(b)
			}()
		}
		for range 4 {
			took := <-done
			if first && took > time.Second {
				t.Errorf("the first won after %v, want a second at most", took)
			}
			first = false
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.tries > 4*30*3 {
			t.Errorf("%d votes were asked for, want at most 30 tries each", r.tries)
		}
	})
}

// While members change, neither list has a holder beside one of the other.
func TestQuorumReplacedUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, 7, 5)
		defer r.close()
		old := r.init(0, 1, 2)
		from, to := r.members(0, 1, 2), r.members(2, 3, 4)
		var parties []*party
		for range 2 {
			parties = append(parties, r.join(old, 3*time.Second, 1, 0, 1, 2))
		}
		stop := time.Now().Add(100 * time.Second)
		wins := map[int]int{}
		live := func(p *party) {
			for time.Now().Before(stop) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				if b, err := p.lock(ctx, "n"); err == nil {
					r.mu.Lock()
					wins[p.number]++
					r.mu.Unlock()
					r.sleep(700 * time.Millisecond) // a holder of the old list, too, at the moment of change
					_ = p.release(b)
				}
				cancel()
				r.sleep(300 * time.Millisecond)
			}
		}
		for _, p := range parties {
			r.moving.Go(func() { live(p) })
		}
		r.sleep(10 * time.Second)
		next, err := quorum.Replace(t.Context(), from, to)
		if err != nil {
			t.Fatal(err)
		}
		if next == old || !strings.HasPrefix(next, "sim/2/3-") {
			t.Errorf("quorum-id: got %s after %s", next, old)
		}
		for range 2 {
			p := r.join(next, 3*time.Second, 1, 2, 3, 4)
			r.moving.Go(func() { live(p) })
		}
		r.sleep(5 * time.Second)
		r.mu.Lock()
		before := wins[0] + wins[1]
		r.mu.Unlock()
		r.sleep(time.Until(stop) + 10*time.Second)
		if again, err := quorum.Replace(t.Context(), from, to); err != nil || again != next {
			t.Errorf("repeated: got %s, %v; want %s", again, err, next)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if got := wins[0] + wins[1]; got != before || before == 0 {
			t.Errorf("the old list won %d times, %d of them after it was replaced", got, got-before)
		}
		if wins[2]+wins[3] == 0 {
			t.Error("the new list never won")
		}
	})
}

// A tenure of the old list is not renewed once its quorum is replaced: else it
// would outlive the wait of the new one.
func TestQuorumReplacedEndsTenures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, 7, 5)
		defer r.close()
		old := r.init(0, 1, 2)
		p := r.join(old, 10*time.Second, 1, 0, 1, 2)
		held := p.must(t, "n")
		next, err := quorum.Replace(t.Context(), r.members(0, 1, 2), r.members(2, 3, 4))
		if err != nil {
			t.Fatal(err)
		}
		q := r.join(next, 10*time.Second, 1, 2, 3, 4)
		r.sleep(9 * time.Second)
		if err := held.lease.Err(); err != nil {
			t.Errorf("before its deadline: %v, want held", err)
		}
		q.never(t, "n", 8*time.Second)
		r.sleep(40 * time.Second)
		_ = q.release(q.must(t, "n")) // checked against held
		if err := held.lease.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("the old lease: got %v, want lost", err)
		}
	})
}

// A node that lost all joins again by replace with the same members.
func TestQuorumRejoins(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p := r.join(id, 5*time.Second, 1, 0, 1, 2)
		r.nodes[1].do(t, "FLUSHALL")
		r.cut([2]int{0, 2})
		_, err := p.lock(t.Context(), "n")
		if !errors.Is(err, holdfast.ErrUnreachable) || !strings.Contains(err.Error(), "has no marker") {
			t.Errorf("got %v, want unreachable, with the node that lost its marker", err)
		}
		again, err := quorum.Replace(t.Context(), r.members(0, 1, 2), r.members(0, 1, 2))
		if err != nil || again != id {
			t.Fatalf("got %s, %v; want %s", again, err, id)
		}
		began := time.Now()
		for time.Since(began) < 55*time.Second {
			p.never(t, "n", 5*time.Second)
			r.sleep(time.Second)
		}
		r.sleep(5 * time.Second)
		_ = p.release(p.must(t, "n"))
	})
}

// If the votes of a majority arrive when the lease would be over, Lock says so, and leaves
// nothing behind.
func TestQuorumTooSlow(t *testing.T) { tooSlow(t, 100*time.Millisecond, 150*time.Millisecond) }

// What is won with less than a third of its life left is undone, and an error
// the second time.
func TestQuorumFloorOnValidity(t *testing.T) { tooSlow(t, 300*time.Millisecond, 230*time.Millisecond) }

// tooSlow locks with a ttl while each vote takes so long, and wants a TooSlowError.
func tooSlow(t *testing.T, ttl, trip time.Duration) {
	t.Helper()
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.passing(func(w way) (f passage) {
			if w.kind == "quorum_lock" {
				f.back = trip
			}
			return f
		})
		p := r.join(id, ttl, 1, 0, 1, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := p.client.Mutex("n").Lock(ctx)
		slow, ok := errors.AsType[*holdfast.TooSlowError](err)
		if !ok || !errors.Is(err, holdfast.ErrTooSlow) || slow.TTL != ttl || slow.RoundTrip != trip {
			t.Errorf("Lock = %v (%+v); want a TooSlowError with a TTL of %v and a round trip of %v", err, slow, ttl, trip)
		}
		r.sleep(10 * time.Millisecond)
		for i := range r.nodes {
			if has := r.has(i, "n"); has != "" {
				t.Errorf("node %d has %q, want nothing", i, has)
			}
		}
	})
}

// A replacement of which too few old members hear changes nothing that votes, and can be
// repeated.
func TestQuorumReplaceNeedsAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, 7, 4)
		defer r.close()
		old := r.init(0, 1, 2)
		from, to := r.members(0, 1, 2), r.members(0, 1, 3)
		from[0].Store, from[1].Store = nil, nil
		if _, err := quorum.Replace(t.Context(), from, to); err == nil {
			t.Error("with one old member of three: got no error")
		}
		p := r.join(old, 5*time.Second, 1, 0, 1, 2)
		_ = p.release(p.must(t, "n")) // by the two others
		if _, err := quorum.Replace(t.Context(), r.members(0, 1, 2), to); err != nil {
			t.Errorf("with all: %v", err)
		}
	})
}

// Every old member hears of a replacement, or somebody vouches that it is gone: one that
// comes back, and one more that has lost what it heard, would else be the old quorum.
func TestQuorumReplaceTellsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRepublic(t, 7, 4)
		defer r.close()
		old := r.init(0, 1, 2)
		from, to := r.members(0, 1, 2), r.members(0, 1, 3)
		reached := from[2].Store
		from[2].Store = nil
		_, err := quorum.Replace(t.Context(), from, to)
		if err == nil || !strings.Contains(err.Error(), "old member node2 does not answer") {
			t.Errorf("an old member that leaves can't be reached: got %v, want an error that names it", err)
		}
		p := r.join(old, 5*time.Second, 1, 0, 1, 2)
		_ = p.release(p.must(t, "n")) // nothing was done
		from[2].Store = &onceSpoken{Store: reached}
		if _, err := quorum.Replace(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "old member node2 does not answer") {
			t.Errorf("it can't be reached any more: got %v, want an error that names it", err)
		}
		next, err := quorum.Replace(t.Context(), from, to, "node2")
		if err != nil {
			t.Fatalf("with one that is gone for good: %v", err)
		}
		q := r.join(next, 5*time.Second, 1, 0, 1, 3)
		r.sleep(61 * time.Second)
		_ = q.release(q.must(t, "n"))
	})
}

// onceSpoken is a node that can be reached once.
type onceSpoken struct {
	driver.Store
	spoke bool
}

func (o *onceSpoken) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if o.spoke {
		return nil, errors.New("connection refused")
	}
	o.spoke = true
	return o.Store.Eval(ctx, call)
}
