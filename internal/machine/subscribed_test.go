package machine

import (
	"fmt"
	"testing"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// listened returns a process in a Cluster. It has that number of names: for each there is one local
// name of a Mutex, or two of a Semaphore.
func listened(t *testing.T, names int, semaphores bool) (c *Client, h *recorder, all []*Name) {
	t.Helper()
	c, h = newTestClient(Settings{Sharded: true})
	for i := range names {
		name := fmt.Sprintf("n%d", i)
		k, err := keyspace.KeysOf(c.Prefix, name)
		if err != nil {
			t.Fatal(err)
		}
		own := c.defaultKind
		if semaphores {
			own = SharedKind(c.Owner, c.defaultKind.Terms, keyspace.Permits, 1, 1)
			all = append(all, c.newName(name+"\x00", name, k, own))
		}
		all = append(all, c.newName(name, name, k, own))
	}
	return c, h, all
}

// A subscription that begins, is confirmed or breaks visits the local names of its own name
// only: thousands may break at once, and each holds the Client's mutex meanwhile.
func TestSubscriptionVisitsItsOwnNames(t *testing.T) {
	for what, semaphores := range map[string]bool{"mutexes": false, "semaphores": true} {
		t.Run(what, func(t *testing.T) {
			const names = 100
			c, _, all := listened(t, names, semaphores)
			for key := range c.names {
				c.names[key] = nil // a visit panics
			}
			defer func() {
				if recover() != nil {
					t.Error("it visits other names")
				}
			}()
			for _, n := range all {
				visits := 0
				for own := range n.sub.names() {
					if visits++; own.Text != n.Text {
						t.Errorf("%s is visited by the subscription of %s", own.Text, n.Text)
					}
				}
				if want := len(all) / names; visits != want {
					t.Fatalf("%s: its subscription visits %d local names, want %d", n.Text, visits, want)
				}
			}
		})
	}
}

// The acquisitions of one name share a subscription, which ends with the last of them.
func TestSubscriptionEndsWithItsLastName(t *testing.T) {
	c, h, all := listened(t, 1, true)
	first, last := all[0], all[1]
	if first.sub != last.sub {
		t.Fatal("two acquisitions of one name have two subscriptions")
	}
	first.sub.open()
	first.forget(1)
	if !h.listening[first.sub] || len(c.sharedSubs) != 1 {
		t.Error("a subscription closed while a name used it")
	}
	for n := range last.sub.names() {
		if n != last {
			t.Error("a forgotten name still uses it")
		}
	}
	last.forget(2)
	if h.listening[last.sub] || len(c.sharedSubs) != 0 {
		t.Error("a subscription outlives its names")
	}
}

// In a Cluster a candidate gets the pushes of other candidates for its name, too.
func TestPushByAnotherSubscription(t *testing.T) {
	y := newPlay(t, Settings{Sharded: true})
	for _, caller := range []string{"a", "b"} {
		y.kind = y.p.CandidateKind(caller)
		y.after(enter(caller))
	}
	other := y.local.tenure.ID
	y.local = y.waiters["a"].Name
	y.after(confirmed)
	if got := y.after(grantPushed(other, 5, 8, 0)); got != "" {
		t.Errorf("a push to another subscription: %s", got)
	}
	y.local = y.waiters["b"].Name
	y.after(confirmed)
	if got, want := y.after(grantPushed(other, 5, 8, 0)), "b gets 5"; got != want {
		t.Errorf("a push to its own subscription: %q, want %q", got, want)
	}
}
