package bench

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// ttlText is ttl for a script.
var ttlText = strconv.FormatInt(ttl.Milliseconds(), 10)

// newRueidis is the client of holdfast and of the limits: rueidis as it comes.
func newRueidis(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
}

// newGoRedis is the client of those that use go-redis. By default it has ten
// connections for each processor, which the workload of 512 callers waits for.
func newGoRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: 512})
}

// driverSession is a session of nothing but a client library.
type driverSession struct {
	grip func(name string) mutex
	end  func()
}

func (s driverSession) mutex(_ int, name string) (mutex, error) { return s.grip(name), nil }
func (s driverSession) close()                                  { s.end() }

// onRueidis opens what needs nothing but a client.
func onRueidis(begin func(rueidis.Client) session) func(setup) (session, error) {
	return func(s setup) (session, error) {
		rc, err := newRueidis(s.Addr)
		if err != nil {
			return nil, err
		}
		return begin(rc), nil
	}
}

func openRueidis(grip func(rueidis.Client, string) mutex) func(setup) (session, error) {
	return onRueidis(func(rc rueidis.Client) session {
		return driverSession{func(name string) mutex { return grip(rc, name) }, rc.Close}
	})
}

func openGoRedis(grip func(*redis.Client, string) mutex) func(setup) (session, error) {
	return func(s setup) (session, error) {
		rc := newGoRedis(s.Addr)
		return driverSession{func(name string) mutex { return grip(rc, name) }, func() { _ = rc.Close() }}, nil
	}
}

// Those that poll do so after pollLeast plus up to as much again by chance. It
// is the best of 0.25 to 64 ms: with less, failing uses up the processors (at
// 1 ms a fifth of the locks); with more, there are hardly more locks and nearly
// all go to whoever has just released. redislock names 16 ms too.
const (
	pollLeast = 16 * time.Millisecond
	pollText  = "16 to 32 ms"
)

func pollDelay() time.Duration { return pollLeast + rand.N(pollLeast) }
