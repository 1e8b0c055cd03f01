package limit

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// A caller that finds the name held joins a queue. A release gives the name to the first
// waiter and tells it. No process may die, and there are no tokens.
const (
	joinQueue = `
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
redis.call("RPUSH", KEYS[2], ARGV[1])
return 0`
	handToNext = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call("LPOP", KEYS[2])
if not next then return redis.call("DEL", KEYS[1]) end
redis.call("SET", KEYS[1], next, "PX", ARGV[2])
return redis.call("PUBLISH", next, "grant")`
)

// The same with what is promised of a hand-over: a token above all before, and no grant
// to a process that is gone.
const (
	nextToken = `
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[3])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
token = string.format("%.0f", token)
redis.call("SET", KEYS[3], token, "PX", "86400000")
`
	JoinQueueForToken = `
if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  redis.call("RPUSH", KEYS[2], ARGV[1])
  return 0
end` + nextToken + `return 1`
	HandTokenToNext = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
local next
repeat next = redis.call("LPOP", KEYS[2]) until not next or redis.call("PUBSUB", "NUMSUB", next)[2] > 0
if not next then return redis.call("DEL", KEYS[1]) end
redis.call("SET", KEYS[1], next, "PX", ARGV[2])` + nextToken + `return redis.call("PUBLISH", next, token)`
)

// queueLimits are the minimal locks that are handed over in order.
var queueLimits = []contend.Contender{
	queueLimit("limit-queue", "a minimal lock with a queue and pushes. No token, no renewal; a dead process blocks the queue.",
		joinQueue, handToNext),
	queueLimit("limit-queue-token", "limit-queue with tokens; a release skips dead waiters. No renewal; a dead holder blocks the queue.",
		JoinQueueForToken, HandTokenToNext),
}

func queueLimit(who, settings, stand, hand string) contend.Contender {
	return contend.Contender{
		Who: who, Library: "rueidis", Settings: settings,
		Sends: []string{"evalsha", "eval", "subscribe", "ping"},
		Open: contend.OnRueidis(func(rc rueidis.Client) contend.Session {
			return queueSession{rc, rueidis.NewLuaScript(stand), rueidis.NewLuaScript(hand)}
		}),
	}
}

type queueSession struct {
	rc          rueidis.Client
	stand, hand *rueidis.Lua
}

func (s queueSession) Close() { s.rc.Close() }

// Mutex listens when it returns.
func (s queueSession) Mutex(_ int, name string) (contend.Mutex, error) {
	m := &queueMutex{queueSession: s, keys: []string{name, "line:" + name, "fence:" + name}, id: rand.Text(), granted: make(chan struct{}, 1)}
	return m, m.listen()
}

type queueMutex struct {
	queueSession
	keys    []string
	id      string        // and its channel
	granted chan struct{} // of 1
}

// listen sends to granted whenever something is published for the id, for as long as the
// process lives.
func (m *queueMutex) listen() error {
	dedicated, _ := m.rc.Dedicate()
	subscribed := make(chan struct{})
	var once sync.Once
	dedicated.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(rueidis.PubSubMessage) { m.granted <- struct{}{} },
		OnSubscription: func(rueidis.PubSubSubscription) { once.Do(func() { close(subscribed) }) },
	})
	if err := dedicated.Do(context.Background(), m.rc.B().Subscribe().Channel(m.id).Build()).Error(); err != nil {
		return err
	}
	select {
	case <-subscribed:
		return nil
	case <-time.After(10 * time.Second):
		return fmt.Errorf("%s: not subscribed after 10s", m.id)
	}
}

func (m *queueMutex) Lock(ctx context.Context) error {
	got, err := m.stand.Exec(context.Background(), m.rc, m.keys, []string{m.id, contend.TTLText}).AsInt64()
	if err != nil || got == 1 {
		return err
	}
	select {
	case <-m.granted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *queueMutex) Unlock() error {
	return m.hand.Exec(context.Background(), m.rc, m.keys, []string{m.id, contend.TTLText}).Error()
}
