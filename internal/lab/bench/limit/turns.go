package limit

import (
	"context"
	"sync"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
)

// Who gives the name back gives it to the first in line and tells him, and stands in
// line again if he wants to. It is 1 where nobody else stood there.
const handAndStand = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call("LPOP", KEYS[2])
if not next and ARGV[3] == "1" then return 1 end
if not next then redis.call("DEL", KEYS[1]) return 0 end
if ARGV[3] == "1" then redis.call("RPUSH", KEYS[2], ARGV[1]) end
redis.call("SET", KEYS[1], next, "PX", ARGV[2])
redis.call("PUBLISH", next, "grant")
return 0`

// The same with what is promised of a hand-over: a line by arrival, also when the clock
// steps back, that does not live for ever; a token above all before; nobody gets the
// name whose process is gone; and who stands first then is told.
const (
	standByArrival = `
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
local t = redis.call("TIME")
redis.call("ZADD", KEYS[2], string.format("%.0f", t[1] * 1000000 + t[2]), ARGV[1])
return 0`

	handAndStandByArrival = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
local ids, heard
repeat
  if ids then redis.call("ZREM", KEYS[2], ids[1]) end
  ids = redis.call("ZRANGE", KEYS[2], "0", "1")
  heard = ids[1] and redis.call("PUBSUB", "NUMSUB", unpack(ids))
until not ids[1] or heard[2] > 0
if not ids[1] and ARGV[3] == "1" then return 1 end
if not ids[1] then redis.call("DEL", KEYS[1]) return 0 end
local t = redis.call("TIME")
local us = t[1] * 1000000 + t[2]
if ARGV[3] == "1" then
  local newest = redis.call("ZRANGE", KEYS[2], "-1", "-1", "WITHSCORES")[2]
  redis.call("ZADD", KEYS[2], string.format("%.0f", math.max(us, newest + 1)), ARGV[1])
  redis.call("PEXPIRE", KEYS[2], "1800000")
end
redis.call("ZREM", KEYS[2], ids[1])
redis.call("SET", KEYS[1], ids[1], "PX", ARGV[2])
local token = math.max((tonumber(redis.call("GET", KEYS[3])) or 0) + 1, 2 * us)
token = string.format("%.0f", token)
redis.call("SET", KEYS[3], token, "PX", "86400000")
if ids[2] then redis.call("PUBLISH", ids[2], "` + nextMessage + `") end
redis.call("PUBLISH", ids[1], token)
return 0`
)

// turnsLimits are limit-queue with turns: a process that has the name gives a turn to each
// of its callers that waited by then.
var turnsLimits = []contend.Contender{{
	Who: "limit-turns", Library: "rueidis",
	Settings: "limit-queue for processes; the holding one gives a turn to each of its callers, then hands over.",
	Sends:    []string{"evalsha", "eval", "subscribe", "ping"},
	Open:     openTurns(standInLine, handAndStand),
}, {
	Who: "limit-turns-token", Library: "rueidis",
	Settings: "limit-turns with rising tokens and a queue that expires; a release skips dead processes and notifies the first waiter. No renewal, no recall; a holder that dies blocks the queue.",
	Sends:    []string{"evalsha", "eval", "subscribe", "ping"},
	Open:     openTurns(standByArrival, handAndStandByArrival, "fence:"),
}}

func openTurns(stand, hand string, besides ...string) func(contend.Setup) (contend.Session, error) {
	return contend.OnRueidis(func(rc rueidis.Client) contend.Session {
		return &turnsSession{lineSession: newLineSession(rc, stand, hand, besides), names: map[string]*turnsMutex{}}
	})
}

type turnsSession struct {
	lineSession

	mu    sync.Mutex
	names map[string]*turnsMutex
}

func (s *turnsSession) Mutex(_ int, name string) (contend.Mutex, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.names[name]; m != nil {
		return m, nil
	}
	place, err := s.place(name)
	if err != nil {
		return nil, err
	}
	m := &turnsMutex{lineMutex: place}
	s.names[name] = m
	return m, nil
}

// turnsMutex is what the callers of one process that want a name share: one place in
// line. A grant is a turn there, for whoever has waited longest.
type turnsMutex struct {
	*lineMutex

	mu      sync.Mutex // guards the rest
	stands  bool       // has the name, or waits for it
	waiting int
	left    int // turns that this process may still give, the present one included
}

func (m *turnsMutex) Lock(ctx context.Context) error {
	m.mu.Lock()
	m.waiting++
	first := !m.stands
	m.stands = true
	m.mu.Unlock()
	if first {
		got, err := m.stand.Exec(context.Background(), m.rc, m.keys, []string{m.id, contend.TTLText}).AsInt64()
		if err != nil {
			return err
		}
		if got == 1 {
			m.granted <- struct{}{}
		}
	}
	if err := granted(ctx, m.granted); err != nil {
		return err
	}
	m.mu.Lock()
	if m.left == 0 { // the name has just come
		m.left = m.waiting
	}
	m.waiting--
	m.mu.Unlock()
	return nil
}

func (m *turnsMutex) Unlock() error {
	m.mu.Lock()
	m.left--
	last, again := m.left == 0, "0"
	if last {
		m.stands = m.waiting > 0
	}
	if m.stands {
		again = "1"
	}
	m.mu.Unlock()
	if !last {
		m.granted <- struct{}{}
		return nil
	}
	alone, err := m.hand.Exec(context.Background(), m.rc, m.keys, []string{m.id, contend.TTLText, again}).AsInt64()
	if alone == 1 {
		m.granted <- struct{}{}
	}
	return err
}
