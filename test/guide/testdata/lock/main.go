// Command lock does what a lock does, one operation after the other and each a few times. It writes
// which code ran to the directory in its argument. The folder NAME.0.1 is from the first round of
// NAME: what ran after the first request and before the second. So they have the order of time.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

const (
	warm   = 4 // rounds that are not written, because in them happens what a Client does once
	rounds = 2
)

func main() {
	inner, err := embedded.Open(nil)
	check(err)
	s := &store{Store: inner, answers: make(chan string, 1<<10)}
	background := context.Background()
	pair := [2]*holdfast.Mutex{holdfast.New(s, nil).Mutex("job"), holdfast.New(s, nil).Mutex("job")}
	short := holdfast.New(s, &holdfast.Options{TTL: 300 * time.Millisecond}).Mutex("short")
	for round := -warm; round < rounds; round++ {
		record := func(name string, operation func()) {
			legs := 0
			s.between(func() {
				if round >= 0 {
					dir := filepath.Join(os.Args[1], fmt.Sprintf("%s.%d.%d", name, round, legs))
					check(errors.Join(os.MkdirAll(dir, 0o700), coverage.WriteMetaDir(dir), coverage.WriteCountersDir(dir)))
				}
				legs++
				check(coverage.ClearCounters())
			})
			s.drain()
			check(coverage.ClearCounters())
			operation()
			s.between(nil)
		}
		lock := func(m *holdfast.Mutex) (lease *holdfast.Lease) {
			lease, err := m.Lock(background)
			check(err)
			return lease
		}
		first, second := pair[(round+warm)%2], pair[(round+warm+1)%2] // so that both have a subscription

		var lease *holdfast.Lease
		record("lock", func() { lease = lock(first) })
		record("release", func() { check(lease.Release()) })

		lease = lock(first)
		record("push", func() {
			granted := make(chan *holdfast.Lease)
			go func() { granted <- lock(second) }()
			s.await("lock queued")
			check(lease.Release())
			lease = <-granted
		})
		check(lease.Release())

		lease = lock(first)
		record("cancel", func() {
			ctx, cancel := context.WithCancel(background)
			ended := make(chan error)
			go func() { _, err := second.Lock(ctx); ended <- err }()
			s.await("lock queued")
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				log.Fatal(err)
			}
		})
		check(lease.Release())

		lease = lock(short)
		ctx := lease.Context(background)
		record("renew", func() { s.await("renew renewed") })
		s.loses.Store(true)
		record("loss", func() { <-ctx.Done() })
		s.loses.Store(false)
		_ = lease.Release()
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// store reports each answer. It can lose a lock key before its renewal.
type store struct {
	driver.Store
	answers chan string // the script and the first word of each answer
	loses   atomic.Bool
	mu      sync.Mutex
	leg     func() // called before each request; nil: nothing is
}

func (s *store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leg != nil {
		s.leg()
	}
	if call.Script.Name == "renew" && s.loses.Load() {
		del := driver.NewScript("del", "redis.call('DEL', KEYS[1]) return {'done'}")
		_, err := s.Store.Eval(ctx, driver.Call{Script: del, Keys: call.Keys[:1]})
		check(err)
	}
	reply, err := s.Store.Eval(ctx, call)
	if len(reply) > 0 {
		word, _, _ := strings.Cut(reply[0], " ")
		s.answers <- call.Script.Name + " " + word
	}
	return reply, err
}

func (s *store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

// await waits for an answer, and until the Client has handled it.
func (s *store) await(answer string) {
	for <-s.answers != answer {
	}
	time.Sleep(20 * time.Millisecond)
}

// between ends the last leg, and has leg called before each request from now on.
func (s *store) between(leg func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leg != nil {
		s.leg()
	}
	s.leg = leg
}

// drain forgets the answers so far.
func (s *store) drain() {
	for len(s.answers) > 0 {
		<-s.answers
	}
}
