package goredisstore

import (
	"context"
	"errors"
	"strings"
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
	reply, err := s.run(ctx, bySHA(ctx, call))
	if unknownScript(err) {
		reply, err = s.run(ctx, bySource(ctx, call))
	}
	return reply, err
}

func (s *Store) run(ctx context.Context, cmd *redis.Cmd) ([]string, error) {
	_ = s.client.Process(ctx, cmd) // the error is the command's, too
	reply, err := decode(cmd)
	s.lookAgain(ctx, err)
	return reply, err
}

// lookAgain asks a cluster, in the background, where its slots are: when a node
// does not answer, its replica may be the master by now, and go-redis would try
// the old one for ten seconds or more.
func (s *Store) lookAgain(ctx context.Context, err error) {
	if err == nil || !s.Sharded() {
		return
	}
	if _, answered := errors.AsType[driver.ServerError](err); !answered {
		s.cluster.ReloadState(ctx)
	}
}

// bounded waits for call until ctx ends. The call ends later, by a time-out of
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

func unknownScript(err error) bool {
	refused, ok := errors.AsType[driver.ServerError](err)
	return ok && strings.HasPrefix(string(refused), "NOSCRIPT")
}
