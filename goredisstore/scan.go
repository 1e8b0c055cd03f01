package goredisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// pageTimeout bounds one command of a scan: a frozen server would keep a caller
// without a deadline for ever.
const pageTimeout = 5 * time.Second

func ask[T any](ctx context.Context, command func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	value, err := bounded(ctx, func() (T, error) { return command(ctx) })
	return value, refusal(err)
}

// scan yields the keys of one node and reports whether to go on.
func scan(ctx context.Context, node Client, match string, yield func(string, error) bool) bool {
	type page struct {
		keys   []string
		cursor uint64
	}
	for cursor := uint64(0); ; {
		got, err := ask(ctx, func(ctx context.Context) (page, error) {
			cmd := redis.NewScanCmd(ctx, nil, "scan", cursor, "match", match, "count", 512)
			_ = node.Process(ctx, cmd) // the error is the command's, too
			keys, next, err := cmd.Result()
			return page{keys, next}, err
		})
		if err != nil {
			yield("", err)
			return false
		}
		for _, key := range got.keys {
			if !yield(key, nil) {
				return false
			}
		}
		if cursor = got.cursor; cursor == 0 {
			return true
		}
	}
}
