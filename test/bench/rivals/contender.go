// Package rivals has what is measured: holdfast itself, other lock libraries, the recipes
// that people write themselves, and limits, each as a contender.
package rivals

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// Contender is one library, with the settings it does best with. If its name begins with
// "limit", it is no lock, or a poor one: it shows what a lock could reach at best on this
// machine, server and client library.
type Contender struct {
	Name     string
	Library  string        // the client library: goredis, rueidis; empty if it uses neither
	Settings string        // what differs from its defaults and why, for the report
	Sends    []string      // commands that its client sends, beside those of every client
	Alone    bool          // one caller in one process, whatever the workload says
	Idle     time.Duration // slept before each acquisition, and up to twice as much again
	Outside  bool          // locks nothing, so its callers do not enter the critical section
	Hangs    bool          // it may wait forever, so its calls need a ctx that ends
	Open     func(Setup) (Maker, error)
}

// Setup is what a contender is opened with.
type Setup struct {
	Addr   string        // of redis-server
	Linger time.Duration // holdfast's Options.Linger
}

// Maker makes what one caller of this process locks one name with. It is used from one
// goroutine.
type Maker func(caller int, name string) (Mutex, error)

// Mutex is locked and unlocked in turn. Lock waits until it holds or ctx ends.
type Mutex interface {
	Lock(ctx context.Context) error
	Unlock() error
}

// IsOurs reports whether it is holdfast.
func (c Contender) IsOurs() bool { return strings.HasPrefix(c.Name, "holdfast") }

// IsPeer reports whether it is what holdfast is compared with.
func (c Contender) IsPeer() bool { return !c.IsOurs() && !strings.HasPrefix(c.Name, "limit") }

// funcs is a mutex of two functions; unlock may be nil.
type funcs struct {
	lock   func(context.Context) error
	unlock func() error
}

func (f funcs) Lock(ctx context.Context) error { return f.lock(ctx) }

func (f funcs) Unlock() error {
	if f.unlock == nil {
		return nil
	}
	return f.unlock()
}

// ttl is longer than any lock of a run is held.
const ttl = 10 * time.Second

var ttlText = strconv.FormatInt(ttl.Milliseconds(), 10)

// PollText says how contenders poll. It is the best of 0.25 to 64 ms: with less, failing
// uses up the processors; with more, nearly all locks go to the caller that has just
// released.
const PollText = "16 to 32 ms"

func pollDelay() time.Duration { return 16*time.Millisecond + rand.N(16*time.Millisecond) }

func newRueidis(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
}

// newGoRedis is the client of those that use go-redis. By default it has ten connections
// for each processor, and 512 callers would wait for them.
func newGoRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: 512})
}

// onRueidis opens what needs nothing but a client.
func onRueidis(mutex func(rc rueidis.Client, name string) (Mutex, error)) func(Setup) (Maker, error) {
	return func(s Setup) (Maker, error) {
		rc, err := newRueidis(s.Addr)
		return func(_ int, name string) (Mutex, error) { return mutex(rc, name) }, err
	}
}

// onGoRedis is onRueidis for go-redis.
func onGoRedis(mutex func(rc *redis.Client, name string) Mutex) func(Setup) (Maker, error) {
	return func(s Setup) (Maker, error) {
		rc := newGoRedis(s.Addr)
		return func(_ int, name string) (Mutex, error) { return mutex(rc, name), nil }, nil
	}
}
