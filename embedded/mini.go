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
// passes. What it is told to keep as remaining time is the deadline instead, in
// milliseconds since the epoch, so that a copy, a rename or a delete carries it
// correctly; the commands that set or read one are translated on their way in
// and out (translate.go), and a heap knows which key is over next.

const (
	// stepBack is how far the clock may be set back before deadlines would
	// become negative.
	stepBack = 10 * 365 * 24 * time.Hour

	// longest is the longest expiry taken, a hundred years. Miniredis counts in
	// nanoseconds and would overflow.
	longest = 100 * 365 * 24 * 3600 * 1000
)

// mini is miniredis with the time and the words of Redis. It lets one caller in at a
// time: the gate of the Store is held. What becomes of single commands is in translate.go.
type mini struct {
	redis  *miniredis.Miniredis
	server *server.Server
	runID  string
	epoch  time.Time // deadlines count from here
	now    time.Time // the clock, read once per command
	due    deadlines
	direct bool // the command under way is for miniredis alone; see intercept
}

// newMini starts one that is empty.
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

// runID is what INFO calls this run of the server: 40 random hex digits.
func runID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// run lets peer's command run at one instant, with everything that is over by then gone.
func (m *mini) run(now time.Time, peer *server.Peer, args []string) {
	m.now = now
	m.redis.SetTime(now)
	m.expire()
	m.dispatch(peer, args)
	peer.Flush()
}

// dispatch runs a command. A script's error is worded again on its way out: all
// that begin as differently as "WRONGTYPE" and "ERR user_script:3: …" in Redis
// begin as "ERR Error compiling script" in miniredis.
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

// forget takes a peer's channels away from miniredis, which ends its goroutines
// for them.
func (m *mini) forget(peer *server.Peer) {
	m.server.Dispatch(peer, []string{"UNSUBSCRIBE"})
	m.server.Dispatch(peer, []string{"PUNSUBSCRIBE"})
}

// since is the current instant in milliseconds since the epoch, a started
// millisecond not counted.
func (m *mini) since() int64 { return int64(m.now.Sub(m.epoch) / time.Millisecond) }

// after is the deadline of what lives ttl milliseconds from now on. A started
// millisecond is counted, so that nothing is over early.
func (m *mini) after(ttl int64) int64 {
	return int64((m.now.Sub(m.epoch)+time.Millisecond-1)/time.Millisecond) + ttl
}

// remaining is how long something with that deadline still lives, in
// milliseconds, never more than was asked for.
func (m *mini) remaining(deadline int64) int64 { return max(0, deadline-m.after(0)) }

// expire deletes what is over. It runs before each command and never within
// one: as in Redis, a script sees one instant.
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

// track looks up key's deadline after something may have changed it: notes it,
// or deletes the key if that is over. ctx is the connection state of the command
// under way.
func (m *mini) track(ctx any, key string) {
	switch at, ok := m.deadline(ctx, key); {
	case !ok:
	case at <= m.since():
		_, _ = m.plain(ctx, "DEL", key)
	default:
		m.due.set(key, at)
	}
}

// deadline is key's, and false if it has none or is not there.
func (m *mini) deadline(ctx any, key string) (int64, bool) {
	reply, err := m.plain(ctx, "PTTL", key)
	at, ok := reply.(int64)
	return at, err == nil && ok && at >= 0
}

// plain asks miniredis itself, without translation.
func (m *mini) plain(ctx any, args ...string) (any, error) {
	return ask(ctx, func(peer *server.Peer) error {
		m.pass(peer, args...)
		return nil
	})
}

// pass lets peer's command through to miniredis without translation.
func (m *mini) pass(peer *server.Peer, args ...string) {
	m.direct = true
	defer func() { m.direct = false }()
	m.server.Dispatch(peer, args)
}
