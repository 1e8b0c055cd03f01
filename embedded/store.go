package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

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

	// gate admits one command at a time, as Redis does. It protects everything
	// below.
	gate   sync.Mutex
	mini   *mini
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
	s := &Store{clock: options.Now, subs: map[*subscription]struct{}{}}
	if s.clock == nil {
		s.clock = time.Now
	}
	var err error
	if s.mini, err = newMini(s.clock()); err != nil {
		return nil, err
	}
	return s, nil
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
		s.mini.forget(sub.peer)
	}
	s.gate.Unlock()

	for sub := range subs {
		sub.end()
	}
	if open != nil {
		open.close() // its connections still need the gate and miniredis
	}
	s.mini.redis.Close()
	return nil
}

// Eval runs one script. See [driver.Store].
func (s *Store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply, err := s.eval("EVALSHA", call.Script.SHA, call)
	if driver.UnknownScript(err) {
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
		// Miniredis answers all keys at once and ignores the count.
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
	return ask(nil, func(peer *server.Peer) error { return s.run(peer, args) })
}

// run runs a command of peer alone. All commands come this way.
func (s *Store) run(peer *server.Peer, args []string) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.mini.run(s.clock(), peer, args)
	return nil
}

// SendsOnce reports true. See [driver.SendsOnce].
func (s *Store) SendsOnce() bool { return true }

// Connect makes a separate connection to the same data.
func (s *Store) Connect() *Connection {
	c := &Connection{store: s, up: make(chan struct{})}
	close(c.up)
	return c
}

// Subscribe subscribes to one channel. See [driver.Store].
func (s *Store) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := newOutbox(func() {}) // listen notices the end
	sub := &subscription{
		store: s,
		out:   out,
		peer:  server.NewPeer(bufio.NewWriter(out)),
		done:  make(chan struct{}),
	}
	if err := s.run(sub.peer, []string{"SUBSCRIBE", channel}); err != nil {
		return nil, err
	}
	s.gate.Lock()
	if s.closed { // Close ran before the gate was taken again
		s.mini.forget(sub.peer)
		s.gate.Unlock()
		return nil, ErrClosed
	}
	s.subs[sub] = struct{}{}
	s.gate.Unlock()
	go sub.listen(message)
	return sub, nil
}

// Listen opens the store to other processes of this machine, by the protocol of
// Redis, until Close. The address must be of the loopback interface, because
// there is no password. "127.0.0.1:0" takes any free port. Listen can be called
// once.
func (s *Store) Listen(addr string) (net.Addr, error) {
	if err := loopback(addr); err != nil {
		return nil, err
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.port != nil {
		return nil, fmt.Errorf("embedded: already listening on %s", s.port.listener.Addr())
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	s.port = &port{store: s, listener: listener, conns: map[net.Conn]struct{}{}}
	s.port.running.Go(s.port.accept)
	return listener.Addr(), nil
}

// URL is the address of the store for clients, such as
// "redis://127.0.0.1:6379". It is empty before [Store.Listen].
func (s *Store) URL() string {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.port == nil {
		return ""
	}
	return "redis://" + s.port.listener.Addr().String()
}
