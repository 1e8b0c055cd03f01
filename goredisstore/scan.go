package goredisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/driver"
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

// scan yields the keys of one node and reports whether to go on. It reads pages with driver.ScanPage,
// so that keys that are too long to be ours take no memory here.
func scan(ctx context.Context, node Client, match string, yield func(string, error) bool) bool {
	for cursor := "0"; ; {
		page, err := ask(ctx, func(ctx context.Context) ([]string, error) {
			cmd := redis.NewStringSliceCmd(ctx, "eval", driver.ScanPage.Source, 0, cursor, match, 512)
			_ = node.Process(ctx, cmd) // the error is the command's, too
			return cmd.Result()
		})
		if err == nil && len(page) == 0 {
			err = errors.New("goredisstore: the script scan answered nothing")
		}
		if err != nil {
			yield("", err)
			return false
		}
		for _, key := range page[1:] {
			if !yield(key, nil) {
				return false
			}
		}
		if cursor = page[0]; cursor == "0" {
			return true
		}
	}
}
