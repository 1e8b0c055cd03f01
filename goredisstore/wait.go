package goredisstore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/go-redis/v9"
)

type acknowledged struct {
	results []driver.Result
	acked   int
	err     error
}

// EvalWait runs the calls and WAIT on one connection. See [driver.Store].
// WAIT gets less time than the read timeout of the client, because a read
// timeout would close the connection.
func (s *Store) EvalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) ([]driver.Result, int, error) {
	a, err := bounded(ctx, func() (acknowledged, error) { return s.evalWait(ctx, calls, replicas, timeout), nil })
	if err != nil {
		a = unsent(calls, err)
	}
	return a.results, a.acked, a.err
}

func unsent(calls []driver.Call, err error) acknowledged {
	a := acknowledged{results: make([]driver.Result, len(calls))}
	for i := range a.results {
		a.results[i].Err = err
	}
	return a
}

func (s *Store) evalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
	if !s.Sharded() {
		return evalWaitOn(ctx, s.single, false, calls, replicas, timeout)
	}
	key := ""
	if len(calls) > 0 && len(calls[0].Keys) > 0 {
		key = calls[0].Keys[0]
	}
	node, err := s.cluster.MasterForKey(ctx, key)
	if err != nil {
		return unsent(calls, refusal(err))
	}
	a := evalWaitOn(ctx, node, false, calls, replicas, timeout)
	for _, result := range a.results { // a slot that moves, or has moved
		refused, _ := result.Err.(driver.ServerError) //nolint:errorlint // made here, never wrapped
		words := strings.Fields(string(refused))      // MOVED or ASK, slot, host:port
		if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
			continue
		}
		s.cluster.ReloadState(ctx) // in the background
		if node := s.master(ctx, words[2]); node != nil {
			return evalWaitOn(ctx, node, words[0] == "ASK", calls, replicas, timeout)
		}
	}
	return a
}

// master is the client for the master at an address, or nil.
func (s *Store) master(ctx context.Context, addr string) (found *redis.Client) {
	var mu sync.Mutex // guards found
	_ = s.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		if node.Options().Addr == addr {
			found = node
		}
		return nil
	})
	return found
}

// evalWaitOn sends the calls by SHA, and if one is not known all by source: they
// stay right when they run twice.
func evalWaitOn(ctx context.Context, node single, asking bool, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
	if limit := node.Options().ReadTimeout; limit > 0 {
		timeout = min(timeout, limit*2/3)
	}
	a := pipelineWait(ctx, node, asking, bySHA, calls, replicas, timeout)
	for _, result := range a.results {
		if unknownScript(result.Err) {
			return pipelineWait(ctx, node, asking, bySource, calls, replicas, timeout)
		}
	}
	return a
}

// pipelineWait is one pipeline, which the client writes to one connection, and repeats as a
// whole.
func pipelineWait(ctx context.Context, node single, asking bool, form func(context.Context, driver.Call) *redis.Cmd, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
	if err := ctx.Err(); err != nil { // go-redis does not look before it sends
		return unsent(calls, err)
	}
	pipe := node.Pipeline()
	commands := make([]*redis.Cmd, len(calls))
	for i, call := range calls {
		if asking { // good for one command
			_ = pipe.Process(ctx, redis.NewCmd(ctx, "asking"))
		}
		commands[i] = form(ctx, call)
		_ = pipe.Process(ctx, commands[i])
	}
	wait := redis.NewIntCmd(ctx, "wait", replicas, max(1, timeout.Milliseconds()))
	_ = pipe.Process(ctx, wait)
	_, _ = pipe.Exec(ctx) // each command has its own error
	a := acknowledged{results: make([]driver.Result, len(calls))}
	for i, command := range commands {
		a.results[i].Reply, a.results[i].Err = decode(command)
	}
	acked, err := wait.Result()
	a.acked, a.err = int(acked), refusal(err)
	return a
}
