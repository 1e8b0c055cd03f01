package rueidisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/rueidis"
)

// Eval runs one script. See [driver.Store].
func (s *Store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	return s.redial.Run(ctx, call, func() ([]string, error) {
		reply, err := decode(s.client.Do(ctx, s.bySHA(call)))
		if driver.UnknownScript(err) {
			reply, err = decode(s.client.Do(ctx, s.bySource(call)))
		}
		return reply, err
	})
}

func (s *Store) bySHA(call driver.Call) rueidis.Completed {
	if s.standalone() {
		return s.unkeyed("EVALSHA", call.Script.SHA, call)
	}
	return s.client.B().Evalsha().Sha1(call.Script.SHA).Numkeys(int64(len(call.Keys))).Key(call.Keys...).Arg(call.Args...).Build()
}

func (s *Store) bySource(call driver.Call) rueidis.Completed {
	if s.standalone() {
		return s.unkeyed("EVAL", call.Script.Source, call)
	}
	return s.client.B().Eval().Script(call.Script.Source).Numkeys(int64(len(call.Keys))).Key(call.Keys...).Arg(call.Args...).Build()
}

// unkeyed makes a command without telling rueidis which of its words are keys. With
// PipelineMultiplex, rueidis spreads commands with keys over its connections at random, and sends
// those without on the first. leave can only leave a connection that is known.
func (s *Store) unkeyed(name, script string, call driver.Call) rueidis.Completed {
	return s.client.B().Arbitrary(name, script, strconv.Itoa(len(call.Keys))).Args(call.Keys...).Args(call.Args...).Build().ToPipe()
}

// chunk is how many scripts go out in one pipeline: enough to make round trips
// cheap, too few to hold up what others send on the same connection.
const chunk = 64

// EvalAll runs the calls in pipelines of a bounded size, one after the other.
// See [driver.Store].
func (s *Store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	return s.redial.RunAll(ctx, calls, func(calls []driver.Call) []driver.Result {
		results := make([]driver.Result, len(calls))
		for start := 0; start < len(calls); start += chunk {
			end := min(start+chunk, len(calls))
			s.pipeline(ctx, calls[start:end], results[start:end])
		}
		return results
	})
}

// pipeline sends the calls by SHA, then by source those that the server did not
// know.
func (s *Store) pipeline(ctx context.Context, calls []driver.Call, results []driver.Result) {
	commands := make(rueidis.Commands, len(calls))
	for i, call := range calls {
		commands[i] = s.bySHA(call)
	}
	var unknown []int
	for i, reply := range s.client.DoMulti(ctx, commands...) {
		results[i].Reply, results[i].Err = decode(reply)
		if driver.UnknownScript(results[i].Err) {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return
	}
	commands = commands[:0]
	for _, i := range unknown {
		commands = append(commands, s.bySource(calls[i]))
	}
	for k, reply := range s.client.DoMulti(ctx, commands...) {
		results[unknown[k]].Reply, results[unknown[k]].Err = decode(reply)
	}
}

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
	go func() { // rueidis dials without looking at ctx
		var a acknowledged
		a.results, a.acked, a.err = s.redial.RunWait(ctx, calls, func() ([]driver.Result, int, error) {
			a := s.evalWait(ctx, calls, replicas, timeout)
			return a.results, a.acked, a.err
		})
		done <- a
	}()
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
		addr, asking, ok := driver.Redirected(result.Err)
		if !ok {
			continue
		}
		if node := s.client.Nodes()[addr]; node != nil {
			return s.evalWaitOn(ctx, node, asking, calls, replicas, timeout)
		}
	}
	return a
}

// evalWaitOn sends the calls by SHA. If the server does not know one, it sends all by source:
// they stay right when they run twice.
func (s *Store) evalWaitOn(ctx context.Context, node rueidis.Client, asking bool, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
	conn, release := s.dedicate(node)
	a := s.pipelineWait(ctx, conn, asking, s.bySHA, calls, replicas, timeout)
	for _, result := range a.results {
		if driver.UnknownScript(result.Err) {
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
