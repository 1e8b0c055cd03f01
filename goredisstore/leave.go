package goredisstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// leaveTimeout bounds leave. The server has just answered, so it is long.
const leaveTimeout = time.Second

// pooler is what tells how many connections a client has. A *redis.Client is one.
type pooler interface{ PoolStats() *redis.PoolStats }

// leave closes the idle connections of the client. go-redis closes a connection on which a command,
// or the first of a pipeline, gets READONLY. It keeps the others, and all after MASTERDOWN or a
// refused WAIT.
//
// go-redis has no method that closes a connection, so the server does it: QUIT needs no right.
// go-redis drops the connection, too: it expects an integer, and "OK" is none.
func (s *Store) leave() {
	pool, ok := s.client.(pooler)
	if !ok {
		s.advised.Do(func() {
			slog.Warn("goredisstore: the server became a replica, and the client keeps idle connections to it: add the method PoolStats to the type that New got", //nolint:sloglint // no caller gets it
				"server", s.single.Options().Addr)
		})
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	quit := func() redis.Cmder { return redis.NewIntCmd(ctx, "quit") }
	for range pool.PoolStats().IdleConns {
		if pool.PoolStats().IdleConns == 0 {
			break
		}
		_ = s.client.Process(ctx, quit())
	}
	for range idlePipelines(pool) {
		if idlePipelines(pool) == 0 {
			break
		}
		pipe := s.client.Pipeline()
		_ = pipe.Process(ctx, quit())
		_, _ = pipe.Exec(ctx)
	}
}

// idlePipelines returns how many idle connections for pipelines a client has.
func idlePipelines(pool pooler) uint32 {
	if stats := pool.PoolStats().PipelineStats; stats != nil {
		return stats.IdleConns
	}
	return 0
}
