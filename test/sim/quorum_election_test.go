package sim_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// On a quorum one candidate leads at a time, in rising terms, with a minority of
// the nodes down; observers see every change that lasts two seconds, by asking.
func TestQuorumElection(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p0, p1, p2 := r.join(id, 5*time.Second, 1, 0, 1, 2), r.join(id, 5*time.Second, 1, 0, 1, 2), r.join(id, 5*time.Second, 1, 0, 1, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		over := make(chan struct{})
		var told []string
		go func() {
			defer close(over)
			for leader, err := range p2.client.Election("n").Observe(ctx) {
				if err != nil || leader.None() != (leader.Term == 0) {
					t.Errorf("Observe: %+v, %v", leader, err)
				}
				told = append(told, leader.Value)
			}
		}()
		time.Sleep(2 * time.Second)
		a, err := p0.client.Election("n").Campaign(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Proclaim(ctx, "b"); err == nil {
			t.Error("Proclaim on a quorum: nil; want that it can't")
		}
		if _, err := a.Export(); err == nil {
			t.Error("Export on a quorum: nil; want that it can't")
		}
		time.Sleep(2 * time.Second)
		r.freeze(r.nodes[1])
		time.Sleep(10 * time.Second)
		leader, err := p2.client.Election("n").Leader(ctx)
		if err != nil || leader.Value != "a" || leader.Own || leader.Remaining <= 0 || leader.Term != a.Token() {
			t.Errorf("Leader = %+v, %v; want a, term %d", leader, err, a.Token())
		}
		second := make(chan *holdfast.Lease)
		for _, p := range []*party{p1, p0} { // one of them is another candidate of the same process
			go func() {
				lease, err := p.client.Election("n").Campaign(ctx, "b")
				if err != nil {
					t.Error(err)
				}
				second <- lease
			}()
		}
		time.Sleep(5 * time.Second)
		if err := a.Err(); err != nil {
			t.Errorf("a: %v; want it to lead", err)
		}
		if err := a.Release(); err != nil {
			t.Error(err)
		}
		last := a.Token()
		for range 2 {
			b := <-second
			if b.Token() <= last {
				t.Errorf("term %d after %d", b.Token(), last)
			}
			last = b.Token()
			select {
			case <-second:
				t.Error("two lead")
			case <-time.After(2 * time.Second):
			}
			if err := b.Release(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2 * time.Second)
		cancel()
		<-over
		if want := []string{"", "a", "b", "b", ""}; !slices.Equal(told, want) {
			t.Errorf("told %q; want %q", told, want)
		}
	})
}

// The term that others see of a leader is the token of its lease, or not known: where node
// clocks are apart, some nodes gave it less than it won with, and others more.
func TestQuorumTerm(t *testing.T) {
	known := 0
	for _, ahead := range [][3]time.Duration{{}, {0, 0, 20 * time.Second}, {0, 20 * time.Second, 20 * time.Second}, {0, 10 * time.Second, 20 * time.Second}} {
		for slow := range 3 {
			assemble(t, func(t *testing.T, r *republic, id string) {
				for i, n := range r.nodes {
					n.ahead = ahead[i]
				}
				r.passing(func(w way) (f passage) {
					if w.party == 0 && w.node == slow && w.kind == "quorum_lock" {
						f.out = 20 * time.Millisecond // it does not count for who wins
					}
					return f
				})
				a, b := r.join(id, 5*time.Second, 1, 0, 1, 2), r.join(id, 5*time.Second, 1, 0, 1, 2)
				lease, err := a.client.Election("n").Campaign(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				for _, down := range []int{-1, 0, 1, 2} {
					r.sleep(2 * time.Second) // a renewal
					if down >= 0 {
						r.setDown(true, down)
					}
					leader, err := b.client.Election("n").Leader(t.Context())
					if err != nil || leader.Value != "a" || leader.Term != 0 && leader.Term != lease.Token() {
						t.Errorf("clocks %v, node %d slow, node %d down: Leader = %+v, %v; want a, term %d or unknown", ahead, slow, down, leader, err, lease.Token())
					}
					if leader.Term != 0 {
						known++
					} else if ahead == [3]time.Duration{} {
						t.Errorf("node %d slow, node %d down: the term is not known, though all clocks agree", slow, down)
					}
					if down >= 0 {
						r.setDown(false, down)
					}
				}
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if known < 12 {
		t.Errorf("the term was known %d times, want it at least where the clocks agree", known)
	}
}
