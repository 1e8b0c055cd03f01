package goredisstore

import (
	"context"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/go-redis/v9"
)

// chunk is how many scripts go out in one pipeline: enough to make round trips
// cheap, too few to keep a server busy for long.
const chunk = 64

// EvalAll runs the calls in pipelines of a bounded size, one after the other.
// In a Cluster it splits each pipeline by node. See [driver.Store].
func (s *Store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results, err := bounded(ctx, func() ([]driver.Result, error) {
		results := make([]driver.Result, len(calls))
		for start := 0; start < len(calls); start += chunk {
			end := min(start+chunk, len(calls))
			s.pipeline(ctx, calls[start:end], results[start:end])
		}
		return results, nil
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
		if unknownScript(result.Err) {
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
			_ = pipe.Process(ctx, commands[i])
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	for i := range results {
		if err != nil {
			results[i].Err = err
		} else {
			results[i].Reply, results[i].Err = decode(commands[i])
			s.lookAgain(ctx, results[i].Err)
		}
	}
}
