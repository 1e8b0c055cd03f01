package rueidisstore

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/rueidis"
)

type acknowledged struct {
	results []driver.Result
	acked   int
	err     error
}

// EvalWait runs the calls and WAIT on a dedicated connection. See
// [driver.Store]. A shared connection will not do: with ConnLifetime, rueidis
// may send WAIT again on another connection.
func (s *Store) EvalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) ([]driver.Result, int, error) {
	done := make(chan acknowledged, 1)
	go func() { done <- s.evalWait(ctx, calls, replicas, timeout) }() // rueidis dials without looking at ctx
	select {
	case a := <-done:
		return a.results, a.acked, a.err
	case <-ctx.Done():
		return failed(calls, ctx.Err()), 0, nil
	}
}

func (s *Store) evalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
	a := s.evalWaitOn(ctx, s.client, false, calls, replicas, timeout)
	if !s.Sharded() {
		return a
	}
	for _, result := range a.results { // a slot that moves, or has moved
		refused, _ := result.Err.(driver.ServerError) //nolint:errorlint // made here, never wrapped
		words := strings.Fields(string(refused))      // MOVED or ASK, slot, host:port
		if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
			continue
		}
		if node := s.client.Nodes()[words[2]]; node != nil {
			return s.evalWaitOn(ctx, node, words[0] == "ASK", calls, replicas, timeout)
		}
	}
	return a
}

// evalWaitOn sends the calls by SHA, and if one is not known all by source: they
// stay right when they run twice.
func (s *Store) evalWaitOn(ctx context.Context, node rueidis.Client, asking bool, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
	conn, release := node.Dedicate()
	a := s.pipelineWait(ctx, conn, asking, s.bySHA, calls, replicas, timeout)
	for _, result := range a.results {
		if unknownScript(result.Err) {
			a = s.pipelineWait(ctx, conn, asking, s.bySource, calls, replicas, timeout)
			break
		}
	}
	if ctx.Err() != nil { // an answer may still come on it
		conn.Close()
	} else {
		release()
	}
	return a
}

func (s *Store) pipelineWait(ctx context.Context, conn rueidis.DedicatedClient, asking bool, form func(driver.Call) rueidis.Completed, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
	var commands rueidis.Commands
	each := 1
	if asking {
		each = 2
	}
	for _, call := range calls {
		if asking { // good for one command
			commands = append(commands, conn.B().Arbitrary("ASKING").Build())
		}
		commands = append(commands, form(call))
	}
	commands = append(commands, conn.B().Wait().Numreplicas(int64(replicas)).Timeout(max(1, timeout.Milliseconds())).Build())
	replies := conn.DoMulti(ctx, commands...)
	a := acknowledged{results: make([]driver.Result, len(calls))}
	for i := range calls {
		a.results[i].Reply, a.results[i].Err = decode(replies[each*i+each-1])
	}
	message, err := answer(replies[len(replies)-1])
	if err != nil {
		a.err = err
		return a
	}
	acked, err := message.ToInt64()
	a.acked, a.err = int(acked), err
	return a
}

func failed(calls []driver.Call, err error) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i := range results {
		results[i].Err = err
	}
	return results
}
