package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// hundreds are names in their order.
func hundreds(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("n%03d", i))
	}
	return names
}

// More than a hundred names are too long for one script: they cost one round trip for each
// hundred that is free.
func TestMultiOfHundreds(t *testing.T) {
	for n, trips := range map[int]int{101: 2, 500: 5} {
		play(t, func(t *testing.T, s stage) {
			p0 := s.process("p0", 15*time.Second)
			steps := s.steps(0, nil)
			names := hundreds(n)
			began := time.Now()
			m, err := s.multi(p0, time.Minute, names...)
			if err != nil {
				t.Fatal(err)
			}
			if took, want := time.Since(began), time.Duration(trips)*time.Millisecond; took != want {
				t.Errorf("%d names took %v, want %d round trips of 1ms", n, took, trips)
			}
			want := slices.Repeat([]string{"multi_lock"}, trips)
			if n%100 == 1 {
				want[trips-1] = "lock"
			}
			s.tookSteps(steps, want...)
			m.release()
			s.gone(time.Millisecond, names...)
		})
	}
}

// Where one name of a hundred is held, a try holds none of the hundreds before when it
// returns, and a Lock asks for the names of that hundred one by one.
func TestMultiHundredsAllOrNone(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		names := hundreds(300)
		holder := s.lock(p0, "n150")
		_, err := p1.Client.Multi(names...).TryLock(t.Context())
		s.heldAt(err, "n150")
		for _, name := range names {
			if name != "n150" && s.locked(name) {
				t.Fatalf("after the try %s is still locked", name)
			}
		}
		steps := s.steps(1, nil)
		got := s.begins(p1, names...)
		time.Sleep(time.Second)
		if !s.locked("n149") || s.locked("n151") {
			t.Error("the names before the held one are not locked, or one behind it is")
		}
		holder.release()
		m := <-got
		s.Atomically(func() {
			slices.Sort(*steps)
			if counts := []int{count(*steps, "multi_lock"), count(*steps, "lock")}; !slices.Equal(counts, []int{3, 101}) {
				t.Errorf("requests: got %v of multi_lock and lock, want 3 and 100, and one to wait", counts)
			}
		})
		m.release()
	})
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// A caller that waits for a name of the first hundred has none of the later ones: its holder may want
// one of those.
func TestMultiHundredsInOrder(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		first := s.lock(p0, "n010")
		got := s.begins(p1, hundreds(250)...)
		time.Sleep(time.Second)
		last, err := p0.Client.Mutex("n240").TryLock(t.Context())
		if err != nil {
			t.Fatalf("TryLock of a later name: got %v, want that it is free", err)
		}
		first.release()
		time.Sleep(time.Second)
		if !s.locked("n199") || s.locked("n241") {
			t.Error("the names before the held one are not locked, or one behind it is")
		}
		if err := last.Release(); err != nil {
			t.Error(err)
		}
		(<-got).release()
	})
}

// A name of the first hundred is lost while a later one is waited for: all begins again.
func TestMultiHundredsLoseOne(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 3*time.Second)
		holder := s.lock(p0, "n150")
		got := s.begins(p1, hundreds(200)...)
		time.Sleep(time.Second)
		s.Evict("n010")
		time.Sleep(2 * time.Second) // a renewal
		holder.release()
		m := <-got
		if err := m.Err(); err != nil || !s.locked("n010") {
			t.Errorf("the lease: got %v, want one of all names", err)
		}
		m.release()
	})
}
