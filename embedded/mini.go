package embedded

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Miniredis keeps a remaining time for each key and makes time pass by walking
// over all of them: at 10,000 keys that is 2 ms per command. Here its time never
// passes. It is given the deadline as remaining time, in milliseconds since the epoch,
// so a copy, a rename or a delete carries it correctly. The commands that set or read one are translated on their way in
// and out (translate.go), and a heap knows which key is over next.

const (
	// stepBack is how far the clock may be set back before deadlines would
	// become negative.
	stepBack = 10 * 365 * 24 * time.Hour

	// longest is the longest expiry taken, a hundred years. Miniredis counts in
	// nanoseconds and would overflow.
	longest = 100 * 365 * 24 * 3600 * 1000
)

// mini is miniredis with the time and the error messages of Redis. The gate of the Store must
// be held: it lets in one caller at a time.
type mini struct {
	redis  *miniredis.Miniredis
	server *server.Server
	runID  string
	epoch  time.Time // deadlines count from here
	now    time.Time // the clock, read once per command
	due    deadlines
	direct bool // the command under way is for miniredis alone; see intercept
}

// newMini starts an empty server.
func newMini(now time.Time) (*mini, error) {
	m := &mini{redis: miniredis.NewMiniRedis(), runID: runID(), epoch: now.Add(-stepBack)}
	// The only way to start miniredis without a listener is to dial it.
	conn, err := m.redis.Dial()
	if err != nil {
		return nil, fmt.Errorf("embedded: start miniredis: %w", err)
	}
	_ = conn.Close()
	m.server = m.redis.Server()
	m.server.SetPreHook(m.intercept)
	return m, nil
}

// runID returns 40 random hex digits, by which INFO identifies this run of the server.
func runID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// run runs a command of peer at one instant, after it has deleted all that expires by then.
func (m *mini) run(now time.Time, peer *server.Peer, args []string) {
	m.now = now
	m.redis.SetTime(now)
	m.expire()
	m.dispatch(peer, args)
	peer.Flush()
}

// dispatch runs a command, and words the errors of scripts as Redis does. In miniredis they all
// begin as "ERR Error compiling script", in Redis as differently as "WRONGTYPE" and "ERR
// user_script:3: …".
func (m *mini) dispatch(peer *server.Peer, args []string) {
	switch strings.ToUpper(args[0]) {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
	default:
		m.server.Dispatch(peer, args)
		return
	}
	var answer bytes.Buffer
	inner := server.NewPeer(bufio.NewWriter(&answer))
	inner.Ctx, inner.Resp3 = peer.Ctx, peer.Resp3
	m.server.Dispatch(inner, args)
	inner.Flush()
	if message, ok := bytes.CutPrefix(answer.Bytes(), []byte("-")); ok {
		peer.WriteError(reword(strings.TrimSuffix(string(message), "\r\n")))
		return
	}
	peer.WriteRaw(answer.String())
}

// forget ends the subscriptions of peer in miniredis, which ends the goroutines for them.
func (m *mini) forget(peer *server.Peer) {
	m.server.Dispatch(peer, []string{"UNSUBSCRIBE"})
	m.server.Dispatch(peer, []string{"PUNSUBSCRIBE"})
}

// since returns the current instant in whole milliseconds since the epoch, rounded down.
func (m *mini) since() int64 { return int64(m.now.Sub(m.epoch) / time.Millisecond) }

// after returns the deadline of a key that lives ttl milliseconds from now on. It is rounded
// up, so that nothing expires early.
func (m *mini) after(ttl int64) int64 {
	return int64((m.now.Sub(m.epoch)+time.Millisecond-1)/time.Millisecond) + ttl
}

// remaining returns the milliseconds until a deadline, and never more than the ttl that was
// set.
func (m *mini) remaining(deadline int64) int64 { return max(0, deadline-m.after(0)) }

// expire deletes what has expired. It runs before each command and never within one: as in
// Redis, a script sees one instant.
func (m *mini) expire() {
	now := m.since()
	for {
		key, ok := m.due.pop(now)
		if !ok {
			return
		}
		m.track(nil, key)
	}
}

// track notes the deadline of key after something may have changed it, or deletes the key if it
// has expired. ctx is the connection state of the command under way.
func (m *mini) track(ctx any, key string) {
	switch at, ok := m.deadline(ctx, key); {
	case !ok:
	case at <= m.since():
		_, _ = m.plain(ctx, "DEL", key)
	default:
		m.due.set(key, at)
	}
}

// deadline returns the deadline of key; false: the key has none, or does not exist.
func (m *mini) deadline(ctx any, key string) (int64, bool) {
	reply, err := m.plain(ctx, "PTTL", key)
	at, ok := reply.(int64)
	return at, err == nil && ok && at >= 0
}

// plain runs a command in miniredis itself, without translation.
func (m *mini) plain(ctx any, args ...string) (any, error) {
	return ask(ctx, func(peer *server.Peer) error {
		m.pass(peer, args...)
		return nil
	})
}

// pass passes a command of peer to miniredis without translation.
func (m *mini) pass(peer *server.Peer, args ...string) {
	m.direct = true
	defer func() { m.direct = false }()
	m.server.Dispatch(peer, args)
}
