package sim_test

import (
	"errors"
	"strings"
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

// Who closes leaves nothing to a node that was silent and may yet hear of a lock.
func TestQuorumCloseUndoesAtSilentNodes(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		r.join(id, 60*time.Second, 1, 0, 1, 2).must(t, "n")
		p := r.join(id, 60*time.Second, 1, 0, 1, 2)
		r.sleep(time.Second)             // the last answer to lock has come
		r.nodes[2].do(t, "DEL", "sim:n") // the other has it on a bare majority
		r.passing(func(w way) (f passage) {
			if w.party == 1 && w.node == 2 { // it hangs, and then does what came, in this order
				f.out = 5 * time.Second
				if w.kind != "quorum_lock" {
					f.out += time.Millisecond
				}
			}
			return f
		})
		for range 2 { // the second finds it silent
			if _, err := p.client.Mutex("n").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
				t.Fatalf("got %v, want ErrHeld", err)
			}
			r.sleep(3 * time.Second)
		}
		if _, err := p.client.Mutex("n").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
			t.Fatalf("got %v, want ErrHeld", err)
		}
		if err := p.client.Close(); err != nil {
			t.Error(err)
		}
		r.sleep(8 * time.Second)
		if has := r.has(2, "n"); has != "" {
			t.Errorf("a closed Client has left %q", has)
		}
	})
}

// Who closes behind Release repeats the unlock that a minority has not answered yet.
func TestQuorumCloseBehindRelease(t *testing.T) {
	for name, out := range map[string]time.Duration{"on its way": 10 * time.Millisecond, "refused at once": 0} {
		t.Run(name, func(t *testing.T) {
			assemble(t, func(t *testing.T, r *republic, id string) {
				p := r.join(id, 60*time.Second, 1, 0, 1, 2)
				b := p.must(t, "n")
				r.sleep(time.Second)
				var unlocks atomic.Int64
				r.passing(func(w way) (f passage) {
					if w.node == 2 && w.kind == "quorum_unlock" && unlocks.Add(1) == 1 {
						f.out, f.loseOut, f.reset = out, true, true
					}
					return f
				})
				if err := errors.Join(p.release(b), p.client.Close()); err != nil {
					t.Error(err)
				}
				r.sleep(3 * time.Second)
				if has := r.has(2, "n"); has != "" {
					t.Errorf("a closed Client has left %q", has)
				}
			})
		})
	}
}

// A stale id that can't be ended is tried to be where it is, and once at a time, however often
// it is seen.
func TestQuorumStaleIDIsEndedOnce(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p := r.join(id, 60*time.Second, 1, 0, 1, 2)
		var seen, there, elsewhere atomic.Int64
		var ghost atomic.Value
		ghost.Store("none")
		r.passing(func(w way) (f passage) {
			switch {
			case w.kind == "quorum_lock":
				f.back = time.Millisecond
			case w.kind != "quorum_unlock" || w.args[0] != ghost.Load():
			case w.node == 2:
				there.Add(1)
				f.refuse = "READONLY You can't write against a read only replica."
			default:
				elsewhere.Add(1)
			}
			return f
		})
		b := p.must(t, "n")
		r.sleep(time.Second)
		value := r.has(2, "n")
		ghost.Store(value[:strings.LastIndexByte(value, ':')])
		_ = p.release(b)
		for end := time.Now().Add(time.Second); time.Now().Before(end); seen.Add(1) {
			_ = p.release(p.must(t, "n"))
		}
		if seen.Load() < 100 || there.Load() > 20 || elsewhere.Load() > 2 {
			t.Errorf("a stale id, seen %d times: %d unlocks where it is and %d elsewhere", seen.Load(), there.Load(), elsewhere.Load())
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
