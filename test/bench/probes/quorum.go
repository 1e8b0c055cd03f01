package probes

import (
	"fmt"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// locker waits for a name and returns what releases it.
type locker func(name string) (release func() error)

// quorums is a lock on a quorum of five servers: the hand-over, and lock and release while all is
// well, while one server is frozen, and after two died. Beside it redsync on the same servers.
func quorums(p *probe) {
	dir := must(os.MkdirTemp("", "holdfast-quorum"))
	defer os.RemoveAll(dir)
	var servers []*redistest.Server
	for i := range 5 {
		own := fmt.Sprint(dir, "/", i)
		check(os.Mkdir(own, 0o700))
		servers = append(servers, must(redistest.Run(own, redistest.Options{})))
		defer servers[i].Close()
	}
	open, n, faulty := p.onQuorum, p.size(2000, 20), p.size(2000, 20)
	if p.Who == "redsync" {
		open, faulty = redsyncOn, p.size(4, 0) // each takes up to ten seconds
	}
	one, other := open(servers)
	p.handOver(one, other, min(n, 200))
	p.lockQuorum("all is well", one, n)
	check(servers[0].Freeze())
	p.lockQuorum("one of five frozen", one, faulty)
	servers[0].Kill()
	servers[1].Kill()
	p.lockQuorum("two of five dead", one, faulty)
}

// onQuorum opens two Clients.
func (p *probe) onQuorum(servers []*redistest.Server) (one, other locker) {
	var stores [2][]driver.Store
	var members []quorum.Member
	for _, s := range servers {
		for i := range stores {
			stores[i] = append(stores[i], must(rueidisstore.Open(s.URL(), nil)))
		}
		members = append(members, quorum.Member{Address: s.Addr(), Store: stores[0][len(members)]})
	}
	id := must(quorum.Init(p.ctx, "bench", true, members...))
	client := func(stores []driver.Store) locker {
		c := holdfast.NewQuorum(id, nil, stores...)
		return func(name string) func() error { return must(c.Mutex(name).Lock(p.ctx)).Release }
	}
	return client(stores[0]), client(stores[1])
}

func redsyncOn(servers []*redistest.Server) (one, other locker) {
	var pools []redsyncredis.Pool
	for _, s := range servers {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: s.Addr()})))
	}
	rs := redsync.New(pools...)
	lock := func(name string) func() error {
		m := rs.NewMutex("redsync:"+name, redsync.WithExpiry(15*time.Second), redsync.WithTries(1000))
		check(m.Lock())
		return func() error { m.Unlock(); return nil } // it fails while servers do
	}
	return lock, lock
}

func (p *probe) lockQuorum(when string, lock locker, n int) {
	var locks, releases []float64
	for i := range n + n/10 {
		began := time.Now()
		release := lock(fmt.Sprint("name", i%100))
		locked := time.Now()
		check(release())
		if i >= n/10 { // after warming up
			locks, releases = append(locks, millis(locked.Sub(began))), append(releases, millis(time.Since(locked)))
		}
	}
	p.quantiles("lock, "+when, locks)
	p.quantiles("release, "+when, releases)
}

// handOver is from the release of one to the lock of the other, which waits.
func (p *probe) handOver(one, other locker, n int) {
	var waits []float64
	for range n {
		release, got := one("handed"), make(chan time.Time, 1)
		go func() {
			release := other("handed")
			got <- time.Now()
			check(release())
			close(got)
		}()
		time.Sleep(150 * time.Millisecond)
		released := time.Now()
		check(release())
		waits = append(waits, millis((<-got).Sub(released)))
		<-got
	}
	p.quantiles("hand-over", waits)
}
