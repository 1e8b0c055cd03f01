package bulk

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// pollJob is as many callers who wait by asking again and again: redsync, with
// the delays that are its default, 50 to 250 ms. They wait until they are ended.
type pollJob struct{ order bulkOrder }

func newPollJob(o bulkOrder) (bulkJob, error) { return pollJob{o}, nil }

func (j pollJob) do(word string) (any, error) {
	if word != "wait" {
		return nil, fmt.Errorf("no word %q", word)
	}
	for range j.order.Clients {
		client := redis.NewClient(&redis.Options{Addr: j.order.Addr})
		if err := client.Ping(context.Background()).Err(); err != nil {
			return nil, err
		}
		rs := redsync.New(goredis.NewPool(client))
		for range j.order.Callers {
			const unbounded = 1 << 30 // the end of the process ends it
			mutex := rs.NewMutex(j.order.Name, redsync.WithTries(unbounded))
			go func() {
				if err := mutex.Lock(); err == nil {
					panic(errors.New("redsync: locked what is held"))
				}
			}()
		}
	}
	return nil, nil
}
