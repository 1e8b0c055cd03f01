package sim_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

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
