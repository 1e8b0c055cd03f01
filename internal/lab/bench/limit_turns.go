package bench

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/redis/rueidis"
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

var (
	rueidisStandInLine  = rueidis.NewLuaScript(standInLine)
	rueidisHandAndStand = rueidis.NewLuaScript(handAndStand)
)

// turnsLimit is limit-line with turns: a process that has the name gives a turn to each
// of its callers that waited by then.
var turnsLimit = contender{
	who: "limit-turns", library: "rueidis",
	settings: "limit-line by processes: the one that has the name gives a turn to each of its callers that waited then, through one channel of Go, and hands over and stands in line again by one script. No token, no renewal, and whoever dies or gives up stops the line.",
	sends:    []string{"evalsha", "eval", "subscribe", "ping"},
	open:     onRueidis(func(rc rueidis.Client) session { return &turnsSession{rc: rc, names: map[string]*turnsMutex{}} }),
}

type turnsSession struct {
	rc rueidis.Client

	mu    sync.Mutex
	names map[string]*turnsMutex
}

func (s *turnsSession) close() { s.rc.Close() }

// mutex listens when it returns.
func (s *turnsSession) mutex(_ int, name string) (mutex, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.names[name]; m != nil {
		return m, nil
	}
	m := &turnsMutex{rc: s.rc, keys: []string{name, "line:" + name}, id: rand.Text(), granted: make(chan struct{}, 1)}
	s.names[name] = m
	return m, listen(s.rc, m.id, m.granted)
}

// turnsMutex is what the callers of one process that want a name share.
type turnsMutex struct {
	rc      rueidis.Client
	keys    []string
	id      string        // and its channel
	granted chan struct{} // of 1: a turn, for whoever has waited longest

	mu      sync.Mutex // guards the rest
	stands  bool       // has the name, or waits for it
	waiting int
	left    int // turns that this process may still give, the present one included
}

func (m *turnsMutex) lock(ctx context.Context) error {
	m.mu.Lock()
	m.waiting++
	first := !m.stands
	m.stands = true
	m.mu.Unlock()
	if first {
		got, err := rueidisStandInLine.Exec(context.Background(), m.rc, m.keys, []string{m.id, ttlText}).AsInt64()
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

func (m *turnsMutex) unlock() error {
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
	alone, err := rueidisHandAndStand.Exec(context.Background(), m.rc, m.keys, []string{m.id, ttlText, again}).AsInt64()
	if alone == 1 {
		m.granted <- struct{}{}
	}
	return err
}
