package sim_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
)

// A lease with an owner and a ttl of its own is seen by that name, renewed in time, over for
// its holder before it is on the nodes, and free that long after its process has gone.
func TestQuorumDedicated(t *testing.T) {
	for _, ttl := range []time.Duration{2 * time.Second, time.Minute} {
		assemble(t, func(t *testing.T, r *republic, id string) {
			a, b := r.join(id, 15*time.Second, 1, 0, 1, 2), r.join(id, 15*time.Second, 1, 0, 1, 2)
			r.ttl = max(r.ttl, ttl)
			m := a.client.Mutex("n")
			m.Owner, m.TTL = "ci-7", ttl
			held, err := a.lockBy(t.Context(), "n", m.Lock)
			if err != nil {
				t.Fatal(err)
			}
			for range 10 {
				r.sleep(ttl / 3)
				state, err := admin.OfQuorum(b.client).Inspect(t.Context(), "n")
				if err != nil || state.Holder == nil || state.Holder.Owner != "ci-7" || state.Holder.TTL != ttl {
					t.Fatalf("Inspect: %+v, %v; want ci-7 with ttl %v", state, err, ttl)
				}
				for _, n := range r.nodes {
					left, _ := n.do(t, "PTTL", "sim:n").(int64)
					if believed := held.lease.Remaining(); believed <= 0 || believed > time.Duration(left)*time.Millisecond {
						t.Fatalf("it has %v left while node %d has it for %d ms", believed, n.number, left)
					}
				}
			}
			a.deafened()
			gone := time.Now()
			b.never(t, "n", ttl/2)
			for held.lease.Remaining() > 0 {
				r.sleep(time.Millisecond)
			}
			_ = b.release(b.must(t, "n"))
			if took := time.Since(gone); took > ttl+time.Second {
				t.Errorf("free after %v, want the ttl of %v", took, ttl)
			}
		})
	}
}

// A vote for such a lease is undone for as long as it lives, not for the ttl of its Client;
// and it is no longer than a restarted node sits out.
func TestQuorumDedicatedIsUndone(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p, holder := r.join(id, time.Second, 1, 0, 1, 2), r.join(id, 15*time.Second, 1, 0, 1, 2)
		r.cut([2]int{1, 2})
		held := holder.must(t, "n")
		r.passing(func(w way) (f passage) {
			f.loseOut = w.party == 1 && w.node == 2 || w.party == 0 && w.kind == "quorum_unlock"
			return f
		})
		m := p.client.Mutex("n")
		m.TTL = time.Minute
		if _, err := m.TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
			t.Fatalf("TryLock: got %v, want held", err)
		}
		if r.has(2, "n") == "" {
			t.Fatal("node 2 gave no vote")
		}
		r.sleep(20 * time.Second)
		r.cut([2]int{1, 2})
		r.sleep(15 * time.Second)
		if got := r.has(2, "n"); got != "" {
			t.Errorf("node 2 has %q, want it undone", got)
		}
		_ = holder.release(held)
		m = p.client.Mutex("n")
		m.TTL = time.Minute + time.Millisecond
		if _, err := m.Lock(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 1m0s") {
			t.Errorf("a longer ttl: got %v, want an error", err)
		}
	})
}

// Where only a bare majority has the lock, nothing mends its loss on one node: the lease
// ends, at its deadline where too few nodes answer to tell.
func TestQuorumLossOfASmallestMajority(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p := r.join(id, 6*time.Second, 1, 0, 1, 2)
		r.setDown(true, 2)
		b := p.must(t, "n")
		r.nodes[1].do(t, "DEL", "sim:n")
		ends := b.lease.Remaining()
		r.sleep(ends - time.Millisecond)
		if err := b.lease.Err(); err != nil {
			t.Errorf("before its deadline: %v, want held", err)
		}
		if got := r.has(1, "n"); got != "" {
			t.Errorf("node 1 has %q, want no repair by a minority", got)
		}
		r.sleep(2 * time.Millisecond)
		if err := b.lease.Err(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("after its deadline: %v, want lost", err)
		}
	})
}

// A lock that runs behind the release of its own id is a stale id on that node. Who made it
// ends it when it sees it: with one more node down it would keep the name for a ttl.
func TestQuorumEndsItsStaleIDs(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p := r.join(id, 15*time.Second, 1, 0, 1, 2)
		var locks atomic.Int64
		r.passing(func(w way) (f passage) {
			if w.kind == "quorum_lock" && w.node == 1 && locks.Add(1) == 1 {
				f.again = time.Second
			}
			return f
		})
		_ = p.release(p.must(t, "n"))
		r.sleep(2 * time.Second)
		if r.has(1, "n") == "" {
			t.Fatal("there is no stale id")
		}
		r.cut([2]int{0, 2})
		began := time.Now()
		_ = p.release(p.must(t, "n"))
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the name was locked after %v, want that the stale id ends at once", took)
		}
	})
}

// A node where another program has made the key something else does not have the lock: of
// a minority that harms nobody, of a majority it is the end at the next renewal, and who
// gives back has nothing there to wait for. What is not ours stays.
func TestQuorumKeyIsAnotherKindNow(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		spoil := func(n *citizen) {
			n.do(t, "DEL", "sim:n")
			n.do(t, "RPUSH", "sim:n", "theirs")
		}
		p := r.join(id, 6*time.Second, 1, 0, 1, 2)
		b := p.must(t, "n")
		r.sleep(200 * time.Millisecond) // all three have heard of it
		spoil(r.nodes[0])
		r.sleep(7 * time.Second)
		if err := b.lease.Err(); err != nil {
			t.Errorf("a minority is spoilt, a ttl later: got %v, want held", err)
		}
		spoil(r.nodes[1])
		r.sleep(3 * time.Second)
		var lost *holdfast.LostError
		if err := b.lease.Err(); !errors.As(err, &lost) || lost.Cause != holdfast.Gone {
			t.Errorf("a majority is spoilt, half a ttl later: got %v, want lost: gone", err)
		}
		r.sleep(time.Second)
		theirs := 0
		for _, n := range r.nodes {
			if n.do(t, "TYPE", "sim:n") == "list" {
				theirs++
			}
		}
		if theirs != 2 {
			t.Errorf("%d nodes have the list of another program, want both", theirs)
		}
	})
}

// A caller that gives back what became something else on a majority has given it back.
func TestQuorumReleaseOfAnotherKindNow(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p := r.join(id, 15*time.Second, 1, 0, 1, 2)
		b := p.must(t, "n")
		r.sleep(200 * time.Millisecond) // all three have heard of it
		for _, n := range r.nodes {
			n.do(t, "DEL", "sim:n")
			n.do(t, "RPUSH", "sim:n", "theirs")
		}
		if err := p.release(b); err != nil {
			t.Errorf("Release: %v, want nil", err)
		}
		for i, n := range r.nodes {
			if n.do(t, "EXISTS", "sim:n") != int64(1) {
				t.Errorf("the list on node %d was deleted", i)
			}
		}
	})
}
