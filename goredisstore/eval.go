package goredisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/go-redis/v9"
)

// soon is how long a call without a goroutine of its own, which costs a tenth of
// its time, may go on after its context was cancelled: go-redis obeys deadlines,
// but no cancel.
const soon = 5 * time.Second

// Eval runs one script. See [driver.Store].
func (s *Store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if end, ok := ctx.Deadline(); s.punctual && ok && time.Until(end) < soon {
		return s.eval(ctx, call)
	}
	return bounded(ctx, func() ([]string, error) { return s.eval(ctx, call) })
}

func (s *Store) eval(ctx context.Context, call driver.Call) ([]string, error) {
	return s.redial.Run(ctx, call, func() ([]string, error) {
		reply, err := s.run(ctx, bySHA(ctx, call))
		if driver.UnknownScript(err) {
			reply, err = s.run(ctx, bySource(ctx, call))
		}
		return reply, err
	})
}

func (s *Store) run(ctx context.Context, cmd *redis.Cmd) ([]string, error) {
	_ = s.client.Process(ctx, s.unrepeated(cmd)) // the error is the command's, too
	reply, err := decode(cmd)
	s.reloadSlots(ctx, err)
	return reply, err
}

// reloadSlots asks a cluster, in the background, where its slots are: when a node
// does not answer, its replica may be the master by now, and go-redis would try
// the old one for ten seconds or more.
func (s *Store) reloadSlots(ctx context.Context, err error) {
	if err == nil || !s.Sharded() {
		return
	}
	if _, answered := errors.AsType[driver.ServerError](err); !answered {
		s.cluster.ReloadState(ctx)
	}
}

// bounded waits for call until ctx ends. The call ends later, by a timeout of
// the client.
func bounded[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// unrepeated makes go-redis return the first answer, whatever MaxRetries is. It would try again
// after READONLY on another connection, and the store would not learn that the server became a
// replica: the subscriptions would stay there.
func (s *Store) unrepeated(cmd *redis.Cmd) redis.Cmder {
	if s.redial.Leave == nil {
		return cmd
	}
	return unrepeated{cmd}
}

type unrepeated struct{ *redis.Cmd }

func (unrepeated) NoRetry() bool { return true }

func bySHA(ctx context.Context, call driver.Call) *redis.Cmd {
	return command(ctx, "evalsha", call.Script.SHA, call)
}

func bySource(ctx context.Context, call driver.Call) *redis.Cmd {
	return command(ctx, "eval", call.Script.Source, call)
}

// command is made here and not by EvalSha, which copies the arguments twice.
func command(ctx context.Context, name, script string, call driver.Call) *redis.Cmd {
	args := make([]any, 0, 3+len(call.Keys)+len(call.Args))
	args = append(args, name, script, len(call.Keys))
	for _, key := range call.Keys {
		args = append(args, key)
	}
	for _, arg := range call.Args {
		args = append(args, arg)
	}
	cmd := redis.NewCmd(ctx, args...)
	if len(call.Keys) > 0 {
		cmd.SetFirstKeyPos(3)
	}
	cmd.SetStepCount(1) // in a cluster it would be asked for by COMMAND, a right of its own
	return cmd
}

// chunk is how many scripts go out in one pipeline: enough to make round trips
// cheap, too few to keep a server busy for long.
const chunk = 64

// EvalAll runs the calls in pipelines of a bounded size, one after the other.
// In a Cluster it splits each pipeline by node. See [driver.Store].
func (s *Store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results, err := bounded(ctx, func() ([]driver.Result, error) {
		return s.redial.RunAll(ctx, calls, func(calls []driver.Call) []driver.Result {
			results := make([]driver.Result, len(calls))
			for start := 0; start < len(calls); start += chunk {
				end := min(start+chunk, len(calls))
				s.pipeline(ctx, calls[start:end], results[start:end])
			}
			return results
		}), nil
	})
	if err != nil {
		results = make([]driver.Result, len(calls))
		for i := range results {
			results[i].Err = err
		}
	}
	return results
}

// pipeline sends the calls by SHA, then by source those that the server did not
// know.
func (s *Store) pipeline(ctx context.Context, calls []driver.Call, results []driver.Result) {
	s.send(ctx, calls, results, bySHA)
	var unknown []int
	var again []driver.Call
	for i, result := range results {
		if driver.UnknownScript(result.Err) {
			unknown = append(unknown, i)
			again = append(again, calls[i])
		}
	}
	if len(again) == 0 {
		return
	}
	second := make([]driver.Result, len(again))
	s.send(ctx, again, second, bySource)
	for k, i := range unknown {
		results[i] = second[k]
	}
}

func (s *Store) send(ctx context.Context, calls []driver.Call, results []driver.Result, form func(context.Context, driver.Call) *redis.Cmd) {
	err := ctx.Err() // go-redis does not look before it sends
	commands := make([]*redis.Cmd, len(calls))
	if err == nil {
		pipe := s.client.Pipeline()
		for i, call := range calls {
			commands[i] = form(ctx, call)
			_ = pipe.Process(ctx, s.unrepeated(commands[i]))
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	for i := range results {
		if err != nil {
			results[i].Err = err
		} else {
			results[i].Reply, results[i].Err = decode(commands[i])
			s.reloadSlots(ctx, results[i].Err)
		}
	}
}

type acknowledged struct {
	results []driver.Result
	acked   int
	err     error
}

// EvalWait runs the calls and WAIT on one connection. See [driver.Store].
// WAIT gets less time than the read timeout of the client, because a read
// timeout would close the connection.
func (s *Store) EvalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) ([]driver.Result, int, error) {
	a, err := bounded(ctx, func() (a acknowledged, _ error) {
		a.results, a.acked, a.err = s.redial.RunWait(ctx, calls, func() ([]driver.Result, int, error) {
			a := s.evalWait(ctx, calls, replicas, timeout)
			return a.results, a.acked, a.err
		})
		return a, nil
	})
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
		return s.evalWaitOn(ctx, s.single, false, calls, replicas, timeout)
	}
	key := ""
	if len(calls) > 0 && len(calls[0].Keys) > 0 {
		key = calls[0].Keys[0]
	}
	node, err := s.cluster.MasterForKey(ctx, key)
	if err != nil {
		return unsent(calls, refusal(err))
	}
	a := s.evalWaitOn(ctx, node, false, calls, replicas, timeout)
	for _, result := range a.results { // a slot that moves, or has moved
		addr, asking, ok := driver.Redirected(result.Err)
		if !ok {
			continue
		}
		s.cluster.ReloadState(ctx) // in the background
		if node := s.master(ctx, addr); node != nil {
			return s.evalWaitOn(ctx, node, asking, calls, replicas, timeout)
		}
	}
	return a
}

// master is the client for the master at an address, or nil.
func (s *Store) master(ctx context.Context, addr string) (found *redis.Client) {
	var mu sync.Mutex // protects found
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

// evalWaitOn sends the calls by SHA. If the server does not know one, it sends all by source:
// they stay right when they run twice.
func (s *Store) evalWaitOn(ctx context.Context, node single, asking bool, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
	if limit := node.Options().ReadTimeout; limit > 0 {
		timeout = min(timeout, limit*2/3)
	}
	a := s.pipelineWait(ctx, node, asking, bySHA, calls, replicas, timeout)
	for _, result := range a.results {
		if driver.UnknownScript(result.Err) {
			return s.pipelineWait(ctx, node, asking, bySource, calls, replicas, timeout)
		}
	}
	return a
}

// pipelineWait sends one pipeline. The client writes it to one connection, and repeats it as a
// whole.
func (s *Store) pipelineWait(ctx context.Context, node single, asking bool, form func(context.Context, driver.Call) *redis.Cmd, calls []driver.Call, replicas int, timeout time.Duration) acknowledged {
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
		_ = pipe.Process(ctx, s.unrepeated(commands[i]))
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
