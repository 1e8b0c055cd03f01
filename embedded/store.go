package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/holdfast-go/holdfast/driver"
)

// ErrClosed is the error of every method after Close.
var ErrClosed = errors.New("embedded: the store is closed")

// Options are the settings of [Open]. The zero value works.
type Options struct {
	// Now is the clock of the store: the TIME command returns it, and keys expire
	// by it. If a test makes it jump, the clock of the server jumps. The store
	// never calls it concurrently. Default: time.Now.
	Now func() time.Time
}

// Store is a Redis-compatible store inside the process. It implements
// [driver.Store]. Make it with [Open]. Close frees its memory.
type Store struct {
	clock func() time.Time
	runID string
	epoch time.Time // deadlines count from here; see expiry.go

	// gate admits one command at a time, as Redis does. It guards everything
	// below, and whoever holds it is the only one inside miniredis.
	gate   sync.Mutex
	redis  *miniredis.Miniredis
	server *server.Server
	now    time.Time // the clock, read once per command
	due    deadlines
	direct bool // the command under way is for miniredis alone; see intercept
	closed bool
	subs   map[*subscription]struct{}
	port   *port // nil until Listen
}

var _ driver.Store = (*Store)(nil)

// Open makes an empty store. Nil options mean the defaults.
func Open(options *Options) (*Store, error) {
	if options == nil {
		options = &Options{}
	}
	s := &Store{
		clock: options.Now,
		runID: runID(),
		redis: miniredis.NewMiniRedis(),
		subs:  map[*subscription]struct{}{},
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.epoch = s.clock().Add(-stepBack)

	// The only way to start miniredis without a listener is to dial it.
	conn, err := s.redis.Dial()
	if err != nil {
		return nil, fmt.Errorf("embedded: start miniredis: %w", err)
	}
	_ = conn.Close()
	s.server = s.redis.Server()
	s.server.SetPreHook(s.intercept)
	return s, nil
}

// runID is what INFO calls this run of the server: 40 random hex digits.
func runID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// Close ends every subscription and connection, and deletes all keys. Later
// calls return [ErrClosed]. Further calls of Close do nothing.
func (s *Store) Close() error {
	s.gate.Lock()
	if s.closed {
		s.gate.Unlock()
		return nil
	}
	s.closed = true
	subs, open := s.subs, s.port
	s.subs = nil
	for sub := range subs {
		s.forget(sub.peer)
	}
	s.gate.Unlock()

	for sub := range subs {
		sub.end()
	}
	if open != nil {
		open.close() // its connections still need the gate and miniredis
	}
	s.redis.Close()
	return nil
}

// Eval runs one script. See [driver.Store].
func (s *Store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply, err := s.eval("EVALSHA", call.Script.SHA, call)
	if refused, ok := errors.AsType[driver.ServerError](err); ok && strings.HasPrefix(string(refused), "NOSCRIPT") {
		reply, err = s.eval("EVAL", call.Script.Source, call)
	}
	if err != nil {
		return nil, err
	}
	return texts(reply)
}

func (s *Store) eval(command, script string, call driver.Call) (any, error) {
	args := make([]string, 0, 3+len(call.Keys)+len(call.Args))
	args = append(args, command, script, strconv.Itoa(len(call.Keys)))
	args = append(args, call.Keys...)
	return s.Do(append(args, call.Args...)...)
}

// EvalAll runs the scripts one after the other. See [driver.Store].
func (s *Store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

// EvalWait runs the scripts one after the other. It does not wait and reports 0
// replicas. See [driver.Store].
func (s *Store) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

// Scan yields the matching keys that exist when the iteration starts. See
// [driver.Store].
func (s *Store) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := ctx.Err(); err != nil {
			yield("", err)
			return
		}
		// Miniredis answers all keys at once, whatever the count.
		reply, err := s.Do("SCAN", "0", "MATCH", match, "COUNT", strconv.Itoa(math.MaxInt32))
		if err != nil {
			yield("", err)
			return
		}
		page, ok := reply.([]any)
		if !ok || len(page) != 2 {
			yield("", fmt.Errorf("embedded: SCAN answered %v", reply))
			return
		}
		keys, err := texts(page[1])
		if err != nil {
			yield("", err)
			return
		}
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// Sharded reports false: this is one server.
func (s *Store) Sharded() bool { return false }

// Do runs any command, as redis-cli would, so that a test can read and change
// keys. The reply is a string, an int64, nil, or a []any of these. If the
// server refuses the command, the error is a [driver.ServerError]. SUBSCRIBE and PSUBSCRIBE need a
// connection: use [Store.Subscribe], or [Store.Listen] and a client.
func (s *Store) Do(args ...string) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("embedded: no command given")
	}
	switch strings.ToUpper(args[0]) {
	case "SUBSCRIBE", "PSUBSCRIBE":
		return nil, errors.New("embedded: Do has no connection to subscribe on: use Subscribe")
	}
	return s.ask(nil, func(peer *server.Peer) error { return s.run(peer, args) })
}

// run is the one way in: it lets peer's command run alone, at one instant, and
// with everything that is over by then gone.
func (s *Store) run(peer *server.Peer, args []string) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.now = s.clock()
	s.redis.SetTime(s.now)
	s.expire()
	s.dispatch(peer, args)
	peer.Flush()
	return nil
}

// SendsOnce reports true. See [driver.SendsOnce].
func (s *Store) SendsOnce() bool { return true }
