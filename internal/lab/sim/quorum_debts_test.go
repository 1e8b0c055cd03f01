package sim_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// A lock that runs behind the release of its own id is a ghost on that node. Who made it
// ends it when it sees it: with one more node down it would keep the name for a ttl.
func TestQuorumEndsItsGhosts(t *testing.T) {
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
			t.Fatal("there is no ghost")
		}
		r.cut([2]int{0, 2})
		began := time.Now()
		_ = p.release(p.must(t, "n"))
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the name was locked after %v, want that the ghost ends at once", took)
		}
	})
}

// Release behind the end of MaxHold returns when the name is given back: who is told may
// end the process.
func TestQuorumReleaseAfterMaxHold(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p := r.join(id, 15*time.Second, 1, 0, 1, 2)
		r.passing(func(way) passage { return passage{out: 100 * time.Millisecond} })
		m := p.client.Mutex("n")
		m.MaxHold = time.Second
		lease, err := m.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.sleep(2 * time.Second)
		if err := lease.Release(); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release: %v, want ErrLost", err)
		}
		left := 0
		for i := range r.nodes {
			if r.has(i, "n") != "" {
				left++
			}
		}
		if left > 1 {
			t.Errorf("%d nodes have the name after Release, want a minority", left)
		}
	})
}

// A node that refuses unlock at once, before the others have answered, is sent it again: a
// lock that stays there would, with one more node down, keep the name for a ttl.
func TestQuorumUnlockRefusedFirst(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p := r.join(id, 15*time.Second, 1, 0, 1, 2)
		var unlocks atomic.Int64
		r.passing(func(w way) (f passage) {
			switch {
			case w.kind == "quorum_unlock" && w.node == 1 && unlocks.Add(1) == 1:
				f.loseOut, f.reset = true, true
			case w.kind == "quorum_unlock":
				f.out = 20 * time.Millisecond
			}
			return f
		})
		b := p.must(t, "n")
		r.sleep(time.Second) // the last answer to lock has come
		if err := p.release(b); err != nil {
			t.Fatal(err)
		}
		r.sleep(2 * time.Second)
		if r.has(1, "n") != "" {
			t.Error("the node that refused unlock still has the lock")
		}
	})
}
