// Quorum measures locks on a quorum of five real servers, beside redsync on the
// same nodes: healthy, with one frozen, with two dead, and the hand-over.
//
//	go run ./test/bench/quorum [-n ROUNDS] [-quick]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis9 "github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

const nodes = 5

func main() {
	n := flag.Int("n", 2000, "rounds where all is well")
	quick := flag.Bool("quick", false, "twenty rounds, and of redsync only where all is well: that it runs, no figures")
	flag.Parse()
	if *quick {
		*n = 20
	}
	if err := run(*n, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "quorum:", err)
		os.Exit(1)
	}
}

func run(n int, quick bool) error {
	dir, err := os.MkdirTemp("", "quorum")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var servers []*redistest.Server
	for i := range nodes {
		sub := fmt.Sprintf("%s/%d", dir, i)
		if err := os.Mkdir(sub, 0o700); err != nil {
			return err
		}
		s, err := redistest.Run(sub, redistest.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		servers = append(servers, s)
	}
	ours, err := newHoldfast(servers)
	if err != nil {
		return err
	}
	goredis9.SetLogger(quiet{})
	others := newRedsync(servers)
	for _, l := range []locker{ours, others} {
		waits, err := handOver(l, min(n, 200))
		if err != nil {
			return err
		}
		fmt.Printf("%-22s %-9s %10v %10v   from release to the waiter's lock\n", "hand-over", l.name(), at(waits, 50), at(waits, 99))
	}
	fmt.Printf("%-22s %-9s %10s %10s %10s %10s\n", "", "", "lock p50", "p99", "release", "p99")
	for _, c := range []struct {
		name string
		n    int
		hit  func() error
	}{
		{"healthy", n, func() error { return nil }},
		{"one of five frozen", n, func() error { return servers[0].Freeze() }},
		{"two of five dead", n, func() error { servers[0].Kill(); servers[1].Kill(); return nil }},
	} {
		if err := c.hit(); err != nil {
			return err
		}
		for _, l := range []locker{ours, others} {
			rounds := c.n
			if l == locker(others) && c.name != "healthy" {
				rounds = 4 // each takes up to ten seconds
				if quick {
					continue
				}
			}
			locks, releases, err := measure(l, rounds)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, l.name(), err)
			}
			fmt.Printf("%-22s %-9s %10v %10v %10v %10v\n", c.name, l.name(), at(locks, 50), at(locks, 99), at(releases, 50), at(releases, 99))
		}
	}
	return nil
}

// locker is a library: lock waits for a name and returns what gives it back.
type locker interface {
	name() string
	lock(name string) (release func() error, err error)
}

func measure(l locker, n int) (locks, releases []time.Duration, err error) {
	for i := range n + n/10 {
		began := time.Now()
		release, err := l.lock(fmt.Sprint("name", i%100))
		locked := time.Now()
		if err != nil {
			return nil, nil, err
		}
		if err := release(); err != nil && l.name() == "holdfast" {
			return nil, nil, err
		}
		if i >= n/10 { // after warming up
			locks, releases = append(locks, locked.Sub(began)), append(releases, time.Since(locked))
		}
	}
	return locks, releases, nil
}

// handOver is from the release of one to the lock of another that waits.
func handOver(l locker, n int) (waits []time.Duration, err error) {
	for range n {
		release, err := l.lock("handed")
		if err != nil {
			return nil, err
		}
		got := make(chan time.Time, 1)
		failed := make(chan error, 1)
		go func() {
			other, err := l.(interface{ twin() locker }).twin().lock("handed")
			if err != nil {
				failed <- err
				return
			}
			got <- time.Now()
			failed <- other()
		}()
		time.Sleep(150 * time.Millisecond)
		released := time.Now()
		if err := release(); err != nil {
			return nil, err
		}
		select {
		case at := <-got:
			waits = append(waits, at.Sub(released))
			if err := <-failed; err != nil {
				return nil, err
			}
		case err := <-failed:
			return nil, err
		}
	}
	return waits, nil
}

func at(sorted []time.Duration, percent int) time.Duration {
	sorted = slices.Clone(sorted)
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)].Round(10 * time.Microsecond)
}

type ours struct{ client, other *holdfast.QuorumClient }

func newHoldfast(servers []*redistest.Server) (*ours, error) {
	var members []quorum.Member
	stores := make([][]driver.Store, 2)
	for _, s := range servers {
		for i := range stores {
			store, err := rueidisstore.Open(s.URL(), nil)
			if err != nil {
				return nil, err
			}
			stores[i] = append(stores[i], store)
		}
		members = append(members, quorum.Member{Address: s.Addr(), Store: stores[0][len(members)]})
	}
	id, err := quorum.Init(context.Background(), "bench", true, members...)
	if err != nil {
		return nil, err
	}
	return &ours{holdfast.NewQuorum(id, nil, stores[0]...), holdfast.NewQuorum(id, nil, stores[1]...)}, nil
}

func (*ours) name() string   { return "holdfast" }
func (o *ours) twin() locker { return &ours{o.other, o.client} }

func (o *ours) lock(name string) (func() error, error) {
	lease, err := o.client.Mutex(name).Lock(context.Background())
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

type theirs struct{ sync *redsync.Redsync }

func newRedsync(servers []*redistest.Server) *theirs {
	var pools []redis.Pool
	for _, s := range servers {
		pools = append(pools, goredis.NewPool(goredis9.NewClient(&goredis9.Options{Addr: s.Addr()})))
	}
	return &theirs{redsync.New(pools...)}
}

func (*theirs) name() string   { return "redsync" }
func (s *theirs) twin() locker { return s }

func (s *theirs) lock(name string) (func() error, error) {
	m := s.sync.NewMutex("redsync:"+name, redsync.WithExpiry(15*time.Second), redsync.WithTries(1000))
	if err := m.Lock(); err != nil {
		return nil, err
	}
	return func() error { _, err := m.Unlock(); return err }, nil
}

// quiet takes what go-redis says of nodes that are meant to be down.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}
