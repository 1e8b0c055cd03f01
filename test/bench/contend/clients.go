package contend

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// TTLText is ttl for a script.
var TTLText = strconv.FormatInt(TTL.Milliseconds(), 10)

// NewRueidis is the client of holdfast and of the limits: rueidis as it comes.
func NewRueidis(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
}

// NewGoRedis is the client of those that use go-redis. By default it has ten
// connections for each processor, which the workload of 512 callers waits for.
func NewGoRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: 512})
}

// DriverSession is a session of nothing but a client library.
type DriverSession struct {
	Grip func(name string) Mutex
	End  func()
}

// Mutex implements Session.
func (s DriverSession) Mutex(_ int, name string) (Mutex, error) { return s.Grip(name), nil }

// Close implements Session.
func (s DriverSession) Close() { s.End() }

// OnRueidis opens what needs nothing but a client.
func OnRueidis(begin func(rueidis.Client) Session) func(Setup) (Session, error) {
	return func(s Setup) (Session, error) {
		rc, err := NewRueidis(s.Addr)
		if err != nil {
			return nil, err
		}
		return begin(rc), nil
	}
}

// OpenRueidis opens a session of rueidis alone; grip makes a mutex.
func OpenRueidis(grip func(rueidis.Client, string) Mutex) func(Setup) (Session, error) {
	return OnRueidis(func(rc rueidis.Client) Session {
		return DriverSession{func(name string) Mutex { return grip(rc, name) }, rc.Close}
	})
}

// OpenGoRedis is OpenRueidis on go-redis.
func OpenGoRedis(grip func(*redis.Client, string) Mutex) func(Setup) (Session, error) {
	return func(s Setup) (Session, error) {
		rc := NewGoRedis(s.Addr)
		return DriverSession{func(name string) Mutex { return grip(rc, name) }, func() { _ = rc.Close() }}, nil
	}
}

// Those that poll do so after pollLeast plus up to as much again by chance. It
// is the best of 0.25 to 64 ms: with less, failing uses up the processors (at
// 1 ms a fifth of the locks); with more, there are hardly more locks and nearly
// all go to whoever has just released. redislock names 16 ms too.
const (
	pollLeast = 16 * time.Millisecond
	PollText  = "16 to 32 ms"
)

// PollDelay is how long to wait before the next try.
func PollDelay() time.Duration { return pollLeast + rand.N(pollLeast) }
