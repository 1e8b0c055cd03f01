package machine

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"testing"
)

// follower stands for one step and the state after it.
func (s *searcher) follower(st step, d digest, broken string) int64 {
	if s.every == 0 {
		return 0
	}
	return int64(maphash.Comparable(s.seed[0], follower{st.what, d, broken}))
}

type follower struct {
	what   stepKind
	d      digest
	broken string
}

// twin notes how a state goes on that was seen before.
func (s *searcher) twin(w *world, t twin) {
	if s.repeated++; s.every == 0 || s.repeated%s.every > 0 {
		return
	}
	for _, st := range w.next(nil) {
		next := w.after(&s.copier, st)
		t.after += s.follower(st, s.digest(next), next.broken)
	}
	s.twins = append(s.twins, t)
}

// unlike are two states with one key that go on differently, as text; "": there are none.
func (s *searcher) unlike() string {
	for _, t := range s.twins {
		after, known := s.after[t.of]
		if !known || after == t.after {
			continue
		}
		one := s.way.to(t.of)
		other := s.way.to(t.from).after(&s.copier, t.how)
		return fmt.Sprintf("one:\n%s%sother:\n%s%s", one.print(), s.onlyAfter(one, other), other.print(), s.onlyAfter(other, one))
	}
	return ""
}

// onlyAfter are the steps from one state that lead to none that follows the other, too.
func (s *searcher) onlyAfter(one, other *world) string {
	known := map[int64]bool{}
	for _, st := range other.next(nil) {
		w := other.after(&s.copier, st)
		known[s.follower(st, s.digest(w), w.broken)] = true
	}
	var b strings.Builder
	for _, st := range one.next(nil) {
		if w := one.after(&s.copier, st); !known[s.follower(st, s.digest(w), w.broken)] {
			fmt.Fprintf(&b, "   goes on so: %s\n%s", one.text(st), w.print())
		}
	}
	return b.String()
}

// A copy goes on as what it was copied from.
func TestCopiesGoOnAlike(t *testing.T) {
	for _, b := range smallBounds() {
		c := &copier{}
		for seed := range uint64(20) {
			chance := rand.New(rand.NewPCG(seed, 1))
			w, replayed := newWorld(b), newWorld(b)
			for range 40 {
				steps := w.next(nil)
				if len(steps) == 0 {
					break
				}
				s := steps[chance.IntN(len(steps))]
				w = w.after(c, s)
				if replayed.do(s); replayed.print() != w.print() {
					t.Fatalf("%s, seed %d: a copy goes on differently:\n%s\n%s", b.name, seed, w.print(), replayed.print())
				}
			}
		}
	}
}
