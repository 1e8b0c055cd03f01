package main

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// store answers at once, as a server would that has each name free; with push, each
// name is held, and granted by a push as soon as somebody waits. Nothing of a
// store's own cost changes with the version.
type store struct {
	push    bool
	token   atomic.Int64
	renewed atomic.Int64
	grants  chan string // ids
	newest  atomic.Pointer[subscription]
}

func newStore(push bool) *store { return &store{push: push, grants: make(chan string, 1024)} }

// holder is whoever has the names while somebody waits for them.
const holder = "AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|other"

var released = []string{"released"}

func (s *store) Eval(_ context.Context, call driver.Call) ([]string, error) {
	asked := int64(64) // tokens
	if call.Script.Name == "renew" {
		asked = 0
		if len(call.Args) > 1 {
			asked, _ = strconv.ParseInt(call.Args[1], 10, 64)
		}
	}
	now := time.Now().UnixMicro()
	switch call.Script.Name {
	case "lock":
		runtime.Gosched() // as a caller does that waits for the network: others come meanwhile
		if !s.push {
			return []string{fmt.Sprintf("granted %d %d 0 %d %d", s.token.Add(asked), asked, now/1e6, now%1e6)}, nil
		}
		if !slices.Contains(call.Args, "wait") {
			return []string{"held", holder, "15000", "0", fmt.Sprint(now)}, nil
		}
		s.grants <- call.Args[0]
		return []string{fmt.Sprintf("queued 15000 0 %d %d %d 1 1 0 %d %s", now, now/1e6, now%1e6, len(holder), holder)}, nil
	case "unlock":
		return released, nil
	case "renew":
		s.renewed.Add(1)
		if asked > 0 {
			return []string{fmt.Sprintf("renewed %d %d 0 %d %d", s.token.Add(asked), asked, now/1e6, now%1e6)}, nil
		}
		return []string{fmt.Sprintf("renewed 0 0 0 %d %d", now/1e6, now%1e6)}, nil
	}
	return nil, fmt.Errorf("rounds: nobody answers the script %s", call.Script.Name)
}

func (s *store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

func (s *store) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (s *store) Subscribe(_ context.Context, _ string, message func(string)) (driver.Subscription, error) {
	sub := &subscription{done: make(chan struct{})}
	s.newest.Store(sub)
	go func() {
		for {
			select {
			case <-sub.done:
				return
			case id := <-s.grants:
				now := time.Now().UnixMicro()
				message(fmt.Sprintf("grant %d 64 0 %d %d 2000 %s", s.token.Add(64), now/1e6, now%1e6, id))
			}
		}
	}()
	return sub, nil
}

func (s *store) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (s *store) Sharded() bool                                         { return false }

type subscription struct {
	done  chan struct{}
	close sync.Once
}

func (s *subscription) Ping(context.Context) error { return nil }
func (s *subscription) Done() <-chan struct{}      { return s.done }
func (s *subscription) Close()                     { s.close.Do(func() { close(s.done) }) }
