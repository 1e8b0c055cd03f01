package limit

import (
	"context"
	"crypto/rand"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
)

// Who finds the name held stands in line; who gives it back gives it to the first
// of them and tells him. Nobody may die, and there are no tokens.
const (
	standInLine = `
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

// The same with what is promised of a hand-over: a token above all before, and nobody
// gets the name whose process is gone.
const (
	nextToken = `
local t = redis.call("TIME")
local token = math.max((tonumber(redis.call("GET", KEYS[3])) or 0) + 1, 2 * (t[1] * 1000000 + t[2]))
token = string.format("%.0f", token)
redis.call("SET", KEYS[3], token, "PX", "86400000")
`
	StandInLineForToken = `
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

// lineLimits are the least locks that are handed over in order.
var lineLimits = []contend.Contender{
	{
		Who: "limit-queue", Library: "rueidis",
		Settings: "a minimal lock with a queue and pushes. No token, no renewal; a dead process blocks the queue.",
		Sends:    []string{"evalsha", "eval", "subscribe", "ping"},
		Open:     openLine(standInLine, handToNext),
	},
	{
		Who: "limit-queue-token", Library: "rueidis",
		Settings: "limit-queue with tokens; a release skips dead waiters. No renewal; a dead holder blocks the queue.",
		Sends:    []string{"evalsha", "eval", "subscribe", "ping"},
		Open:     openLine(StandInLineForToken, HandTokenToNext, "fence:"),
	},
}

func openLine(stand, hand string, besides ...string) func(contend.Setup) (contend.Session, error) {
	return contend.OnRueidis(func(rc rueidis.Client) contend.Session { return newLineSession(rc, stand, hand, besides) })
}

type lineSession struct {
	rc          rueidis.Client
	stand, hand *rueidis.Lua
	besides     []string // what further keys begin with
}

func newLineSession(rc rueidis.Client, stand, hand string, besides []string) lineSession {
	return lineSession{rc, rueidis.NewLuaScript(stand), rueidis.NewLuaScript(hand), besides}
}

func (s lineSession) Close() { s.rc.Close() }

func (s lineSession) Mutex(_ int, name string) (contend.Mutex, error) { return s.place(name) }

// place listens when it returns.
func (s lineSession) place(name string) (*lineMutex, error) {
	m := &lineMutex{lineSession: s, keys: []string{name, "line:" + name}, id: rand.Text(), granted: make(chan struct{}, 1)}
	for _, prefix := range s.besides {
		m.keys = append(m.keys, prefix+name)
	}
	return m, listen(s.rc, m.id, m.granted)
}

type lineMutex struct {
	lineSession
	keys    []string
	id      string        // and its channel
	granted chan struct{} // of 1
}

func (m *lineMutex) Lock(ctx context.Context) error {
	got, err := m.stand.Exec(context.Background(), m.rc, m.keys, []string{m.id, contend.TTLText}).AsInt64()
	if err != nil || got == 1 {
		return err
	}
	return granted(ctx, m.granted)
}

func (m *lineMutex) Unlock() error {
	return m.hand.Exec(context.Background(), m.rc, m.keys, []string{m.id, contend.TTLText}).Error()
}
