//go:build unix

package quorum_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// contest is some clients that lock one name again and again, watched: no two
// leases at a time, and each token above all before.
type contest struct {
	t    testing.TB
	stop chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex // protects the rest
	leases map[*holdfast.Lease]string
	newest int64
	wins   int
	errs   map[string]int
}

func watch(t testing.TB, clients ...*holdfast.QuorumClient) *contest {
	t.Helper()
	c := &contest{t: t, stop: make(chan struct{}), leases: map[*holdfast.Lease]string{}, errs: map[string]int{}}
	for _, client := range clients {
		c.wg.Go(func() { c.live(client) })
	}
	t.Cleanup(c.end)
	return c
}

func (c *contest) end() {
	c.mu.Lock()
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.mu.Unlock()
	c.wg.Wait()
}

func (c *contest) live(client *holdfast.QuorumClient) {
	for {
		select {
		case <-c.stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		lease, err := client.Mutex("x").Lock(ctx)
		cancel()
		if err != nil {
			c.mu.Lock()
			c.errs[err.Error()]++
			c.mu.Unlock()
			continue
		}
		c.granted(client.Owner(), lease)
		time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
		c.mu.Lock()
		delete(c.leases, lease)
		c.mu.Unlock()
		_ = lease.Release() // a fault may have taken it
		time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	}
}

func (c *contest) granted(owner string, lease *holdfast.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wins++
	for other, whose := range c.leases {
		if other.Err() == nil && lease.Err() == nil {
			c.t.Errorf("%s and %s both hold x, tokens %d and %d", whose, owner, other.Token(), lease.Token())
		}
	}
	if lease.Token() <= c.newest {
		c.t.Errorf("%s was given token %d after %d", owner, lease.Token(), c.newest)
	}
	c.newest = max(c.newest, lease.Token())
	c.leases[lease] = owner
}

// more waits for n grants from now on.
func (c *contest) more(n int) {
	c.t.Helper()
	c.mu.Lock()
	want := c.wins + n
	c.mu.Unlock()
	for deadline := time.Now().Add(clienttest.Patience); ; time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		wins, errs := c.wins, c.errs
		if wins >= want {
			c.mu.Unlock()
			return
		}
		if time.Now().After(deadline) {
			c.t.Errorf("%d grants in %v, want %d; errors: %v", wins-want+n, clienttest.Patience, n, errs)
			c.mu.Unlock()
			c.end()
			c.t.FailNow()
		}
		c.mu.Unlock()
	}
}

// Whatever befalls a minority of the nodes, the others go on: no two leases at a
// time, rising tokens, and nothing left behind when all is well again.
func TestQuorumFaults(t *testing.T) {
	type node struct {
		*redistest.Server
		*redistest.Proxy
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	faults := []struct {
		name  string
		of    int
		hit   int
		begin func(t *testing.T, n node)
		end   func(t *testing.T, n node)
	}{
		{"one of three frozen", 3, 1,
			func(t *testing.T, n node) { must(t, n.Freeze()) },
			func(t *testing.T, n node) { must(t, n.Thaw()) }},
		{"two of five frozen", 5, 2,
			func(t *testing.T, n node) { must(t, n.Freeze()) },
			func(t *testing.T, n node) { must(t, n.Thaw()) }},
		{"two of five killed", 5, 2,
			func(_ *testing.T, n node) { n.Kill() },
			func(t *testing.T, n node) { must(t, n.Restart(true)) }},
		{"two of five in a black hole", 5, 2,
			func(_ *testing.T, n node) { n.Hold() },
			func(_ *testing.T, n node) { n.Pass() }},
		{"two of five cut off", 5, 2,
			func(_ *testing.T, n node) { n.Refuse() },
			func(_ *testing.T, n node) { n.Pass() }},
		{"answers of one of three lost", 3, 1,
			func(_ *testing.T, n node) { n.HoldReplies() },
			func(_ *testing.T, n node) { n.Cut(); n.Pass() }},
		{"one of three restarted empty", 3, 1,
			func(t *testing.T, n node) { must(t, n.Restart(true)) },
			func(*testing.T, node) {}},
		{"one of five slow", 5, 1,
			func(_ *testing.T, n node) { n.Delay(100 * time.Millisecond) },
			func(_ *testing.T, n node) { n.Delay(0) }},
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := clienttest.Deploy(t, f.of)
			ttl := holdfast.QuorumOptions{TTL: 2 * time.Second}
			c := watch(t, d.Client(ttl), d.Client(ttl), d.Client(ttl), d.Client(ttl))
			c.more(10)
			for i := range f.hit {
				f.begin(t, node{d.Servers[i], d.Proxies[i]})
			}
			c.more(20)
			time.Sleep(500 * time.Millisecond) // not for proof: that requests hang when it ends
			for i := range f.hit {
				f.end(t, node{d.Servers[i], d.Proxies[i]})
			}
			c.more(10)
			c.end()
			clienttest.Eventually(t, "no node has L", func() bool { return nodesWith(d, clienttest.LockKey("x")) == 0 })
		})
	}
}

// A node restarted empty in the middle of a tenure gives no vote to another, and
// the tenure goes on with the majority.
func TestQuorumRestartedEmptyInATenure(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	a, b := d.Client(holdfast.QuorumOptions{TTL: time.Second}), d.Client(holdfast.QuorumOptions{TTL: time.Second})
	d.Proxies[2].Refuse() // a holds on nodes 1 and 2
	lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Servers[1].Restart(true); err != nil {
		t.Fatal(err)
	}
	d.Proxies[2].Pass()
	d.Proxies[0].Refuse() // b and a see nodes 2 and 3 only
	if _, err := clienttest.LockIn(t, b, "x", 1500*time.Millisecond); err == nil && lease.Err() == nil {
		t.Error("two hold x")
	} else if err == nil {
		t.Error("a node that forgot everything gave its vote")
	}
}

// More than a minority down: an error in bounded time that names the nodes, and
// all goes on when they are back.
func TestQuorumWithoutMajority(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	a := d.Client(holdfast.QuorumOptions{TTL: 3 * time.Second})
	for _, p := range d.Proxies[:2] {
		p.Refuse()
	}
	began := time.Now()
	_, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	var why *holdfast.QuorumError
	if !errors.Is(err, holdfast.ErrUnreachable) || !errors.As(err, &why) || why.Nodes[0] == nil || why.Nodes[2] != nil {
		t.Errorf("got %v, want unreachable, with what nodes 1 and 2 said", err)
	}
	if took := time.Since(began); took > clienttest.Slack {
		t.Errorf("it took %v, want about a ttl", took)
	}
	for _, p := range d.Proxies {
		p.Pass()
	}
	lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	clienttest.GiveBack(t, lease)
}

// A lease is lost by its deadline when a majority is gone.
func TestQuorumLosesWithItsMajority(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	a := d.Client(holdfast.QuorumOptions{TTL: time.Second})
	lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Proxies[:2] {
		p.Hold()
	}
	clienttest.Closed(t, "lease is over", lease.Done())
	clienttest.LostBy(t, lease.Err(), holdfast.Expired)
	_ = lease.Release()
}

// What a Client that closes had is gone on all nodes that speak, also on the slowest.
func TestQuorumCloseLeavesNothing(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	d.Proxies[2].Delay(20 * time.Millisecond)
	a := d.Client(holdfast.QuorumOptions{})
	lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	clienttest.Eventually(t, "all nodes have the lock", func() bool { return d.Servers[2].MustDo(t, "EXISTS", clienttest.LockKey("x")) == "1" })
	if err := clienttest.Bounded(t, "Close", a.Close); err != nil {
		t.Errorf("Close: got %v", err)
	}
	clienttest.LostBy(t, lease.Err(), holdfast.Closed)
	for i, s := range d.Servers {
		if got := s.MustDo(t, "EXISTS", clienttest.LockKey("x")); got != "0" {
			t.Errorf("node %d still has L after Close", i+1)
		}
	}
}

// A frozen node costs nothing: not to lock, not to release, not to close.
func TestQuorumFrozenNodeCostsNothing(t *testing.T) {
	d := clienttest.Deploy(t, 5)
	a := d.Client(holdfast.QuorumOptions{})
	if err := d.Servers[0].Freeze(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	const rounds = 50
	for range rounds {
		lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
		if err != nil {
			t.Fatal(err)
		}
		clienttest.GiveBack(t, lease)
	}
	if took := time.Since(began); took > clienttest.Slack { // one wait for the node would be 3 s
		t.Errorf("%d locks took %v", rounds, took)
	}
	lease, err := clienttest.LockIn(t, a, "x", clienttest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := clienttest.Bounded(t, "Close", a.Close); err != nil {
		t.Errorf("Close: got %v, want nil: a majority has confirmed", err)
	}
	clienttest.LostBy(t, lease.Err(), holdfast.Closed)
	if err := d.Servers[0].Thaw(); err != nil {
		t.Fatal(err)
	}
	for i, s := range d.Servers[1:] {
		if got := s.MustDo(t, "EXISTS", clienttest.LockKey("x")); got != "0" {
			t.Errorf("node %d still has L after Close", i+2)
		}
	}
}
