package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// graces are holds with a MaxHold and a Grace, each with what another Client asks for.
var graces = map[string]struct {
	lock func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error)
	next func(c *holdfast.Client) (*holdfast.Lease, error)
}{
	"mutex": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			m := c.Mutex("n")
			m.MaxHold, m.Grace = most, grace
			return m.Lock(context.Background())
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.Mutex("n").Lock(context.Background()) },
	},
	"permits": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			sem := c.Semaphore("n", 3)
			sem.MaxHold, sem.Grace = most, grace
			return sem.Acquire(context.Background(), 2)
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Semaphore("n", 3).Acquire(context.Background(), 2)
		},
	},
	"reader": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			m := c.RWMutex("n")
			m.MaxHold, m.Grace = most, grace
			return m.RLock(context.Background())
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").Lock(context.Background()) },
	},
	"writer": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			m := c.RWMutex("n")
			m.MaxHold, m.Grace = most, grace
			return m.Lock(context.Background())
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) { return c.RWMutex("n").RLock(context.Background()) },
	},
	"leader": {
		func(c *holdfast.Client, most, grace time.Duration) (*holdfast.Lease, error) {
			e := c.Election("n")
			e.MaxHold, e.Grace = most, grace
			return e.Campaign(context.Background(), "a")
		},
		func(c *holdfast.Client) (*holdfast.Lease, error) {
			return c.Election("n").Campaign(context.Background(), "b")
		},
	},
}

// Work that does not stop keeps the name for Grace after MaxHold and no longer; a Release
// gives it back before. Of all kinds.
func TestGrace(t *testing.T) {
	const most = 3 * time.Second
	for name, c := range graces {
		for what, g := range map[string]struct{ ttl, grace, release, want time.Duration }{
			"stated":       {15 * time.Second, 5 * time.Second, 0, 5 * time.Second},
			"default":      {15 * time.Second, 0, 0, 2 * time.Second},
			"short ttl":    {600 * time.Millisecond, 0, 0, 600 * time.Millisecond},
			"released":     {15 * time.Second, 5 * time.Second, time.Second, time.Second},
			"ttl is short": {2 * time.Second, 2 * time.Second, 0, 2 * time.Second},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				play(t, func(t *testing.T, s stage) {
					p0, p1 := s.process("p0", g.ttl), s.process("p1", 15*time.Second)
					lease, err := c.lock(p0.Client, most, g.grace)
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					released := make(chan error, 1)
					if g.release > 0 {
						time.AfterFunc(most+g.release, func() { released <- lease.Release() })
					}
					next, err := c.next(p1.Client)
					if err != nil {
						t.Fatal(err)
					}
					free := time.Since(began) - most
					if early := min(g.want, g.ttl/2); free < early-10*time.Millisecond || free > g.want+50*time.Millisecond {
						t.Errorf("the next gets it %v after MaxHold; want %v", free, g.want)
					}
					if next.Token() <= lease.Token() {
						t.Errorf("token %d after %d", next.Token(), lease.Token())
					}
					if g.release == 0 {
						released <- lease.Release()
					}
					var lost *holdfast.LostError
					if err := <-released; !errors.As(err, &lost) || lost.Cause != holdfast.MaxHold {
						t.Errorf("Release = %v; want lost: max hold", err)
					}
					time.Sleep(time.Second)
					if err := next.Err(); err != nil { // a late Release is nothing to it
						t.Errorf("the next: %v", err)
					}
					_ = next.Release()
					time.Sleep(time.Second)
					s.none("n")
				})
			})
		}
	}
}

// On a quorum, too.
func TestQuorumGrace(t *testing.T) {
	assemble(t, func(t *testing.T, r *republic, id string) {
		p, other := r.join(id, 30*time.Second, 1, 0, 1, 2), r.join(id, 30*time.Second, 1, 0, 1, 2)
		mutex := p.client.Mutex("n")
		mutex.MaxHold, mutex.Grace = 10*time.Second, 3*time.Second
		b, err := p.lockBy(t.Context(), "n", mutex.Lock)
		if err != nil {
			t.Fatal(err)
		}
		r.sleep(12900 * time.Millisecond)
		if got := r.has(0, "n"); got == "" {
			t.Error("it is free before Grace is over")
		}
		_ = p.release(b)
		next, err := other.lockBy(t.Context(), "n", other.client.Mutex("n").Lock)
		if err != nil {
			t.Fatal(err)
		}
		_ = other.release(next)

		if b, err = p.lockBy(t.Context(), "n", mutex.Lock); err != nil {
			t.Fatal(err)
		}
		r.sleep(14 * time.Second)
		for node := range 3 {
			if got := r.has(node, "n"); got != "" {
				t.Errorf("node %d has %q after Grace; want nothing", node, got)
			}
		}
		_ = p.release(b)
	})
}
