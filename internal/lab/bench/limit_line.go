package bench

import (
	"context"
	"crypto/rand"

	"github.com/redis/rueidis"
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

var (
	rueidisStandInLine = rueidis.NewLuaScript(standInLine)
	rueidisHandToNext  = rueidis.NewLuaScript(handToNext)
)

// lineLimit is the least lock that is handed over in order.
var lineLimit = contender{
	who: "limit-line", library: "rueidis",
	settings: "The least lock that is handed over in order: SET NX, or a place in a list; a release takes the first from it, makes him the holder and publishes. No token, no renewal, and whoever dies stops the line.",
	sends:    []string{"evalsha", "eval", "subscribe", "ping"},
	open:     onRueidis(func(rc rueidis.Client) session { return lineSession{rc} }),
}

type lineSession struct{ rc rueidis.Client }

func (s lineSession) close() { s.rc.Close() }

// mutex listens when it returns.
func (s lineSession) mutex(_ int, name string) (mutex, error) {
	m := &lineMutex{rc: s.rc, keys: []string{name, "line:" + name}, id: rand.Text(), granted: make(chan struct{}, 1)}
	return m, listen(s.rc, m.id, m.granted)
}

type lineMutex struct {
	rc      rueidis.Client
	keys    []string
	id      string        // and its channel
	granted chan struct{} // of 1
}

func (m *lineMutex) lock(ctx context.Context) error {
	got, err := rueidisStandInLine.Exec(context.Background(), m.rc, m.keys, []string{m.id, ttlText}).AsInt64()
	if err != nil || got == 1 {
		return err
	}
	return granted(ctx, m.granted)
}

func (m *lineMutex) unlock() error {
	return rueidisHandToNext.Exec(context.Background(), m.rc, m.keys, []string{m.id, ttlText}).Error()
}
