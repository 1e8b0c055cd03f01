//go:build unix

// Package promises_test tests each promise of the package comment on a real server with
// each driver, in a second or two. What breaks promises is tried in the other packages
// below test/.
package promises_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

const name = "n"

// each runs a test with each driver, on a server of its own.
func each(t *testing.T, test func(t *testing.T, server *redistest.Server, open func(holdfast.Options) *holdfast.Client)) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		t.Parallel()
		server := redistest.Start(t, redistest.Options{})
		test(t, server, func(o holdfast.Options) *holdfast.Client {
			client := holdfast.New(d.Open(t, server.URL(), clienttest.Way{}), &o)
			t.Cleanup(func() { _ = client.Close() })
			return client
		})
	})
}

// S1: two leases of a name never overlap. S2: tokens rise with every lease.
func TestS1OneHolderAndS2RisingTokens(t *testing.T) {
	each(t, func(t *testing.T, _ *redistest.Server, open func(holdfast.Options) *holdfast.Client) {
		const clients, callers, turns = 4, 4, 20
		inside, count, last := 0, 0, int64(0) // protected by nothing but the lock: the race detector looks, too
		var all sync.WaitGroup
		for range clients {
			client := open(holdfast.Options{})
			for range callers {
				all.Go(func() {
					for range turns {
						lease, err := client.Mutex(name).Lock(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						if inside++; inside != 1 {
							t.Errorf("%d hold the name", inside)
						}
						if lease.Token() <= last {
							t.Errorf("token %d after %d", lease.Token(), last)
						}
						count, last = count+1, lease.Token()
						inside--
						if err := lease.Release(); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		if want := clients * callers * turns; count != want {
			t.Errorf("got %d turns, want %d", count, want)
		}
	})
}

// S2: also over an expiry and the loss of all data.
func TestS2TokensRiseAfterALoss(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, open func(holdfast.Options) *holdfast.Client) {
		client := open(holdfast.Options{})
		before := clienttest.Take(t, client, name)
		clienttest.GiveBack(t, before)
		server.MustDo(t, "FLUSHALL")
		after := clienttest.Take(t, client, name)
		if after.Token() <= before.Token() {
			t.Errorf("token %d after %d and FLUSHALL", after.Token(), before.Token())
		}
		clienttest.GiveBack(t, after)
	})
}

// S3: a holder learns of the loss, from a renewal or from its clock.
func TestS3HolderLearnsOfTheLoss(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, open func(holdfast.Options) *holdfast.Client) {
		const ttl = time.Second
		client := open(holdfast.Options{TTL: ttl})
		taken := clienttest.Take(t, client, name)
		server.MustDo(t, "SET", clienttest.LockKey(name), "another")
		clienttest.Closed(t, "the end of a lease whose key was overwritten", taken.Done())
		clienttest.LostBy(t, taken.Err(), holdfast.Taken)
		server.MustDo(t, "DEL", clienttest.LockKey(name))

		silent := clienttest.Take(t, client, name)
		if err := server.Freeze(); err != nil {
			t.Fatal(err)
		}
		clienttest.Closed(t, "the end of a lease whose server is silent", silent.Done())
		if left := silent.Remaining(); left > 0 {
			t.Errorf("ended with %v left", left)
		}
		clienttest.LostBy(t, silent.Err(), holdfast.Expired)
		if err := server.Thaw(); err != nil {
			t.Fatal(err)
		}
	})
}

// L1: first come, first served between processes.
func TestL1FirstComeFirstServed(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, open func(holdfast.Options) *holdfast.Client) {
		holder := clienttest.Take(t, open(holdfast.Options{Owner: "holder"}), name)
		var want, got, waiting []string
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 6 {
			owner := fmt.Sprint("w", i)
			client := open(holdfast.Options{Owner: owner})
			all.Go(func() {
				lease, err := client.Mutex(name).Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got = append(got, owner)
				mu.Unlock()
				clienttest.GiveBack(t, lease)
			})
			want, waiting = append(want, owner), append(waiting, owner)
			clienttest.InQueue(t, server, name, waiting...)
		}
		clienttest.GiveBack(t, holder)
		all.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("served %v, want %v", got, want)
		}
	})
}

// L2: nothing is left behind by leases that were released and waits that were given up.
func TestL2NothingIsLeft(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, open func(holdfast.Options) *holdfast.Client) {
		first, second := open(holdfast.Options{TTL: clienttest.Long}), open(holdfast.Options{TTL: clienttest.Long})
		lease := clienttest.Take(t, first, name)
		_, err := second.Mutex(name).TryLock(t.Context())
		if !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("got %v, want ErrHeld", err)
		}
		given, cancel := context.WithCancel(t.Context())
		wait := clienttest.Asking(given, second.Mutex(name))
		clienttest.Eventually(t, "the second waits", func() bool { return server.MustDo(t, "ZCARD", clienttest.QueueKey(name)) == "1" })
		cancel()
		wait.Refused(t, given.Err())
		clienttest.GiveBack(t, lease)
		clienttest.NothingLeftSoon(t, server, name)
	})
}

// L3: two commands per lock, also when many want it.
func TestL3TwoCommandsPerLock(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, open func(holdfast.Options) *holdfast.Client) {
		const clients, turns = 4, 50
		var all sync.WaitGroup
		before := clienttest.Commands(t, server)
		for range clients {
			client := open(holdfast.Options{})
			all.Go(func() {
				for range turns {
					lease, err := client.Mutex(name).Lock(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					clienttest.GiveBack(t, lease)
				}
			})
		}
		all.Wait()
		// A first request that comes before its subscription is repeated, one that waits
		// long too: a tenth of all.
		if got, most := clienttest.Commands(t, server)-before, int64(clients*turns*22/10); got > most {
			t.Errorf("%d commands for %d locks, want %d at most; %s", got, clients*turns, most, strings.TrimSpace(server.MustDo(t, "INFO", "commandstats")))
		}
	})
}
