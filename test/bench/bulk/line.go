package bulk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/test/bench/limit"
)

// lineJob is limit-queue-token for as many as there are Clients in a queueJob, on one
// connection as they: what it takes at least to serve them one after the other.
type lineJob struct {
	hub         *hub
	stand, hand *rueidis.Lua
	keys        []string
	served      sync.WaitGroup

	mu     sync.Mutex // guards the rest
	last   time.Time
	failed error
}

// lineTTL outlives the time that it takes all of them to join the queue.
const lineTTL = "120000"

func newLineJob(o order) (job, error) {
	hub, err := newHub(o.Addr)
	if err != nil {
		return nil, err
	}
	j := &lineJob{
		hub: hub, stand: rueidis.NewLuaScript(limit.JoinQueueForToken), hand: rueidis.NewLuaScript(limit.HandTokenToNext),
		keys: []string{o.Name, "line:" + o.Name, "fence:" + o.Name},
	}
	if err := j.run(j.stand, "holder"); err != nil {
		return nil, err
	}
	for i := range o.Clients {
		j.served.Add(1)
		id := fmt.Sprint("one:", i)
		if _, err := j.hub.Subscribe(context.Background(), id, func(string) { go j.serve(id) }); err != nil {
			return nil, err
		}
		if err := j.run(j.stand, id); err != nil {
			return nil, err
		}
	}
	return j.release, nil
}

func (j *lineJob) run(script *rueidis.Lua, id string) error {
	return script.Exec(context.Background(), j.hub.conn, j.keys, []string{id, lineTTL}).Error()
}

// serve is the turn of one.
func (j *lineJob) serve(id string) {
	defer j.served.Done()
	at := time.Now()
	err := j.run(j.hand, id)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last, j.failed = at, errors.Join(j.failed, err)
}

// release returns how long it took until the last one was served.
func (j *lineJob) release(string) (any, error) {
	released := time.Now()
	if err := j.run(j.hand, "holder"); err != nil {
		return nil, err
	}
	j.served.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last.Sub(released), j.failed
}

// newPollJob makes callers that wait by polling: redsync with its default delays, 50 to 250 ms.
// They wait until their process ends.
func newPollJob(o order) (job, error) {
	for range o.Clients {
		client := redis.NewClient(&redis.Options{Addr: o.Addr})
		if err := client.Ping(context.Background()).Err(); err != nil {
			return nil, err
		}
		rs := redsync.New(goredis.NewPool(client))
		for range o.Callers {
			const unbounded = 1 << 30 // the end of the process ends it
			mutex := rs.NewMutex(o.Name, redsync.WithTries(unbounded))
			go func() {
				if err := mutex.Lock(); err == nil {
					panic(errors.New("redsync: locked what is held"))
				}
			}()
		}
	}
	return func(string) (any, error) { return nil, nil }, nil
}
