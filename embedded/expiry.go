package embedded

import (
	"time"

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

// since is the current instant in milliseconds since the epoch, a started
// millisecond not counted.
func (s *Store) since() int64 { return int64(s.now.Sub(s.epoch) / time.Millisecond) }

// after is the deadline of what lives ttl milliseconds from now on. A started
// millisecond is counted, so that nothing is over early.
func (s *Store) after(ttl int64) int64 {
	return int64((s.now.Sub(s.epoch)+time.Millisecond-1)/time.Millisecond) + ttl
}

// remaining is how long something with that deadline still lives, in
// milliseconds, never more than was asked for.
func (s *Store) remaining(deadline int64) int64 { return max(0, deadline-s.after(0)) }

// expire deletes what is over. It runs before each command and never within
// one: as in Redis, a script sees one instant.
func (s *Store) expire() {
	now := s.since()
	for {
		key, ok := s.due.pop(now)
		if !ok {
			return
		}
		s.track(nil, key)
	}
}

// track looks up key's deadline after something may have changed it: notes it,
// or deletes the key if that is over. ctx is the connection state of the command
// under way.
func (s *Store) track(ctx any, key string) {
	switch at, ok := s.deadline(ctx, key); {
	case !ok:
	case at <= s.since():
		_, _ = s.plain(ctx, "DEL", key)
	default:
		s.due.set(key, at)
	}
}

// deadline is key's, and false if it has none or is not there.
func (s *Store) deadline(ctx any, key string) (int64, bool) {
	reply, err := s.plain(ctx, "PTTL", key)
	at, ok := reply.(int64)
	return at, err == nil && ok && at >= 0
}

// plain asks miniredis itself, without translation.
func (s *Store) plain(ctx any, args ...string) (any, error) {
	return s.ask(ctx, func(peer *server.Peer) error {
		s.pass(peer, args...)
		return nil
	})
}

// pass lets peer's command through to miniredis without translation.
func (s *Store) pass(peer *server.Peer, args ...string) {
	s.direct = true
	defer func() { s.direct = false }()
	s.server.Dispatch(peer, args)
}
