package rueidisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/driver"
)

// pageTimeout bounds one command of a scan: a frozen server would keep a caller
// without a deadline for ever.
const pageTimeout = 5 * time.Second

// ask sends one command, and returns when ctx ends. The command has its whole time all
// the same: rueidis may close the connection when that is over, and others are on it.
func ask(ctx context.Context, node rueidis.Client, cmd rueidis.Completed) (result rueidis.RedisResult, err error) {
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	done := make(chan rueidis.RedisResult, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTimeout)
		defer cancel()
		done <- node.Do(ctx, cmd)
	}()
	select {
	case result = <-done:
		_, err = answer(result)
		return result, err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// replica reports whether node said that it is one. One that does not say is
// scanned: its keys may then come twice.
func replica(ctx context.Context, node rueidis.Client) bool {
	result, err := ask(ctx, node, node.B().Role().Build())
	if err != nil {
		return false
	}
	role, err := result.ToArray()
	if err != nil || len(role) == 0 {
		return false
	}
	name, _ := role[0].ToString()
	return name == "slave"
}

// scan yields the keys of one node and reports whether to go on. A script reads the pages: it leaves
// out keys whose names are too long to be ours, before they take memory here.
func scan(ctx context.Context, node rueidis.Client, match string, yield func(string, error) bool) bool {
	for cursor := "0"; ; {
		result, err := ask(ctx, node, node.B().Eval().Script(driver.ScanPage.Source).Numkeys(0).Arg(cursor, match, "512").Build().ToRetryable()) // it only reads
		if err != nil {
			yield("", err)
			return false
		}
		page, err := result.AsStrSlice()
		if err == nil && len(page) == 0 {
			err = errors.New("rueidisstore: the script scan answered nothing")
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
