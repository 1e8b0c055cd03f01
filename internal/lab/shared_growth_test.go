//go:build unix

package lab_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// What a lock and its release cost Redis grows no faster than the logarithm of
// how many hold: with readers, and with permits that are held one by one. The
// figures in docs/shared.md are this test's, with -v.
func TestSharedGrowth(t *testing.T) {
	type locked func(ctx context.Context, c *holdfast.Client, i int) (*holdfast.Lease, error)
	permits := func(n func(i int) int) locked {
		return func(ctx context.Context, c *holdfast.Client, i int) (*holdfast.Lease, error) {
			return c.Semaphore("growth", 1<<20).Acquire(ctx, n(i))
		}
	}
	for _, of := range []struct {
		name    string
		lock    locked
		bounded bool
	}{
		{"readers", func(ctx context.Context, c *holdfast.Client, _ int) (*holdfast.Lease, error) {
			return c.RWMutex("growth").RLock(ctx)
		}, true},
		{"permits, each holds 1", permits(func(int) int { return 1 }), true},
		{"permits, a tenth hold 3", permits(func(i int) int {
			if i%10 == 0 {
				return 3
			}
			return 1
		}), false},
	} {
		t.Run(of.name, func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			c := holdfast.New(drivers[0].open(t, server.URL(), way{}), &holdfast.Options{TTL: time.Hour}) // nothing is renewed meanwhile
			t.Cleanup(func() { _ = c.Close() })
			var table strings.Builder
			var first, last float64
			held := 0
			for _, n := range []int{10, 100, 1000, 10000} {
				holders(t, n-held, func(i int) error {
					_, err := of.lock(t.Context(), c, held+i)
					return err
				})
				held = n
				last = pair(t, server, func() (*holdfast.Lease, error) { return of.lock(t.Context(), c, 1) })
				if first == 0 {
					first = last
				}
				fmt.Fprintf(&table, "\n%6d holders: %6.0f µs, %5.1f times", n, last, last/first)
			}
			t.Logf("a lock and its release, in scripts:%s", table.String())
			// The logarithm of 10,000 is four times that of 10; the rest is for a
			// machine that does other things too. Reading them all costs a hundred
			// times as much.
			if of.bounded && last > 8*first {
				t.Errorf("beside 10,000 holders: got %.0f µs, want no more than 8 times the %.0f µs beside 10", last, first)
			}
		})
	}
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
