//go:build unix

package many_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// What a lock and its release cost Redis grows no faster than the logarithm of
// how many hold: with readers, and with permits that are held one by one. The
// figures in docs/shared.md are this test's and the next one's, with -v.
func TestSharedGrowth(t *testing.T) {
	for name, lock := range map[string]lockOne{
		"readers": func(ctx context.Context, c *holdfast.Client, _ bool) (*holdfast.Lease, error) {
			return c.RWMutex("growth").RLock(ctx)
		},
		"permits, each holds 1": func(ctx context.Context, c *holdfast.Client, _ bool) (*holdfast.Lease, error) {
			return c.Semaphore("growth", 1<<20).Acquire(ctx, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			// The logarithm of 10,000 is four times that of 10; the rest is for a
			// machine that does other things too. To read all takes ten times as long
			// beside 1,000, and a hundred times beside 10,000.
			growth(t, lock, 8)
		})
	}
}

// The same where a tenth hold 3: it grows with them, and does not block Redis for
// as long as reading all would.
func TestSharedGrowthOfTheHeavy(t *testing.T) {
	growth(t, func(ctx context.Context, c *holdfast.Client, late bool) (*holdfast.Lease, error) {
		n := 1
		if late {
			n = 3
		}
		return c.Semaphore("growth", 1<<20).Acquire(ctx, n)
	}, 50)
}

// lockOne makes a holder; late are the last tenth.
type lockOne func(ctx context.Context, c *holdfast.Client, late bool) (*holdfast.Lease, error)

// growth tells what a lock and its release take beside 10 holders and more, up to
// 10,000, in µs of Redis, which may be so many times as much.
func growth(t *testing.T, lock lockOne, times float64) {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	c := holdfast.New(clienttest.Drivers[0].Open(t, server.URL(), clienttest.Way{}), &holdfast.Options{TTL: time.Hour}) // nothing is renewed meanwhile
	t.Cleanup(func() { _ = c.Close() })
	var table strings.Builder
	var first, last float64
	held := 0
	for _, n := range []int{10, 100, 1000, 10000} {
		more := n - held
		holders(t, more, func(i int) error {
			_, err := lock(t.Context(), c, i >= more-more/10)
			return err
		})
		held = n
		last = pair(t, server, func() (*holdfast.Lease, error) { return lock(t.Context(), c, false) })
		if first == 0 {
			first = last
		}
		fmt.Fprintf(&table, "\n%6d holders: %6.0f µs, %5.1f times", n, last, last/first)
		if last > times*first {
			t.Errorf("beside %d holders: got %.0f µs, want no more than %.0f times the %.0f µs beside 10", n, last, times, first)
			break // with more it may take for ever
		}
	}
	t.Logf("a lock and its release, in scripts:%s", table.String())
}

// holders makes n more of them, some at a time.
func holders(t *testing.T, n int, lock func(i int) error) {
	t.Helper()
	failed := make(chan error, n)
	var all sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		slots <- struct{}{}
		if len(failed) > 0 {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			if err := lock(i); err != nil {
				failed <- err
			}
		})
	}
	all.Wait()
	if len(failed) > 0 {
		t.Fatal(<-failed)
	}
}

// pair is how many µs the scripts of a lock and its release take, by the server's
// own count: the best of ten rounds, for what else the machine does only adds.
func pair(t *testing.T, server *redistest.Server, lock func() (*holdfast.Lease, error)) float64 {
	t.Helper()
	const pairs = 100
	var best float64
	for round := range 10 {
		_, before := renewals(t, server)
		for range pairs {
			lease, err := lock()
			if err == nil {
				err = lease.Release()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, after := renewals(t, server)
		if usec := float64(after-before) / pairs; round == 0 || usec < best {
			best = usec
		}
	}
	return best
}
