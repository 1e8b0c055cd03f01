package bulk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/limit"
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

// lineTTL outlives the time that it takes all of them to stand in line.
const lineTTL = "120000"

func newLineJob(o bulkOrder) (bulkJob, error) {
	hub, err := newHub(o.Addr)
	if err != nil {
		return nil, err
	}
	j := &lineJob{
		hub: hub, stand: rueidis.NewLuaScript(limit.StandInLineForToken), hand: rueidis.NewLuaScript(limit.HandTokenToNext),
		keys: []string{o.Name, "line:" + o.Name, "fence:" + o.Name},
	}
	if err := j.enter("holder"); err != nil {
		return nil, err
	}
	for i := range o.Clients {
		j.served.Add(1)
		id := fmt.Sprint("one:", i)
		if _, err := j.hub.Subscribe(context.Background(), id, func(string) { go j.serve(id) }); err != nil {
			return nil, err
		}
		if err := j.enter(id); err != nil {
			return nil, err
		}
	}
	return j, nil
}

func (j *lineJob) enter(id string) error {
	return j.stand.Exec(context.Background(), j.hub.conn, j.keys, []string{id, lineTTL}).Error()
}

// serve is the turn of one.
func (j *lineJob) serve(id string) {
	defer j.served.Done()
	at := time.Now()
	err := j.hand.Exec(context.Background(), j.hub.conn, j.keys, []string{id, lineTTL}).Error()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last, j.failed = at, errors.Join(j.failed, err)
}

// lineDone is how long it took until the last one was served, and what a PING in turn
// takes on the same connection: a processor woken at either end, and some 20 µs.
type lineDone struct{ Took, Ping time.Duration }

// do lets them go.
func (j *lineJob) do(word string) (any, error) {
	if word != "go" {
		return nil, fmt.Errorf("no word %q", word)
	}
	released := time.Now()
	if err := j.hand.Exec(context.Background(), j.hub.conn, j.keys, []string{"holder", lineTTL}).Error(); err != nil {
		return nil, err
	}
	j.served.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil, j.failed
	}
	ping, err := j.ping()
	return lineDone{Took: j.last.Sub(released), Ping: ping}, err
}

func (j *lineJob) ping() (each time.Duration, err error) {
	const times = 2000
	began := time.Now()
	for range times {
		if err := j.hub.conn.Do(context.Background(), j.hub.conn.B().Ping().Build()).Error(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / times, nil
}
