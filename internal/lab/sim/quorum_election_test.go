package sim_test

import (
	"context"
	"errors"
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
				if err != nil || leader.Term != 0 {
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
		time.Sleep(2 * time.Second)
		r.freeze(r.nodes[1])
		time.Sleep(10 * time.Second)
		leader, err := p2.client.Election("n").Leader(ctx)
		if err != nil || leader.Value != "a" || leader.Own || leader.Remaining <= 0 {
			t.Errorf("Leader = %+v, %v; want a", leader, err)
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

// Several names are all or nothing on a quorum, too.
func TestQuorumMulti(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p0, p1 := r.join(id, 5*time.Second, 1, 0, 1, 2), r.join(id, 5*time.Second, 1, 0, 1, 2)
		held, err := p0.client.Multi("c", "b").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p1.client.Multi("b", "a").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("TryLock = %v; want ErrHeld", err)
		}
		a, err := p0.client.Multi("a").TryLock(t.Context())
		if err != nil {
			t.Fatalf("a is not free: %v", err)
		}
		got := make(chan *holdfast.MultiLease)
		go func() {
			lease, err := p1.client.Multi("c", "a", "b").Lock(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- lease
		}()
		time.Sleep(10 * time.Second)
		for _, lease := range []*holdfast.MultiLease{a, held} {
			select {
			case <-got:
				t.Fatal("p1 has names that p0 holds")
			default:
			}
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
		lease := <-got
		if lease.Err() != nil || lease.Token("b") <= held.Token("b") || lease.Token("c") <= held.Token("c") {
			t.Errorf("p1: %v, tokens %d and %d", lease.Err(), lease.Token("b"), lease.Token("c"))
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}
