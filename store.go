package holdfast

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-go/holdfast/internal/script"
)

// Store is how holdfast talks to one Redis or Valkey deployment. A driver
// implements it with a client library and adds no lock logic of its own;
// package storetest proves a driver.
//
// Every method may be called from many goroutines. On a connection that is
// established a call must end by the deadline of its ctx, which it always has;
// beyond that the core bounds calls itself and goes on when one does not return
// in time, so a driver need not be perfect at obeying ctx. It must only not leak
// what it started once the server answers or the connection ends. A driver may repeat a call that was
// interrupted: every script stays right when it runs twice, or late.
type Store interface {
	// Eval runs one script by its SHA, and by its source where the server does
	// not know it. The elements of the reply come as text, integers in decimal;
	// a reply that is not an array is a reply of one element, nil is none.
	// What the server refuses is returned as a ServerError, word for word; any
	// other error means that nobody knows whether the script ran.
	Eval(ctx context.Context, call Call) ([]string, error)

	// EvalAll runs the calls in one pipeline, or as close to that as the
	// deployment allows, and returns one Result for each, in their order.
	EvalAll(ctx context.Context, calls []Call) []Result

	// EvalWait runs the calls in one pipeline, and behind them, on that very
	// connection, WAIT for so many replicas, at most for timeout, which is a
	// millisecond or more. It returns one Result for each call, and how many
	// replicas acknowledged all of them: 0 where there are none. An error is
	// that of WAIT, which says nothing of the calls. In a Cluster all keys of
	// all calls are of one slot.
	EvalWait(ctx context.Context, calls []Call, replicas int, timeout time.Duration) (results []Result, acked int, err error)

	// Subscribe listens to one channel on a connection that carries nothing but
	// subscriptions. It returns once the server has confirmed. message is called for
	// each message in order, from one goroutine, and must not block. It gets only what
	// was published after the call, also where others on the connection listen already.
	// A subscription that breaks is not mended by the driver: it ends.
	Subscribe(ctx context.Context, channel string, message func(payload string)) (Subscription, error)

	// Scan yields the keys that match a glob pattern, on every node, by SCAN.
	// A key may come twice. An error ends the iteration.
	Scan(ctx context.Context, match string) iter.Seq2[string, error]

	// Sharded reports whether this is a Redis Cluster, where channels live in
	// the slot of their name and are reached by SPUBLISH and SSUBSCRIBE.
	Sharded() bool
}

// SendsOnce is an ability of a Store: it can promise that neither it nor its client
// library sends a call again that may have run. With it Release returns ErrLost where
// Redis says that the lock was gone. A Store without it may repeat calls.
type SendsOnce interface {
	// SendsOnce reports whether each call of Eval and EvalAll runs at most once.
	SendsOnce() bool
}

// Subscription is one confirmed subscription of a Store.
type Subscription interface {
	// Ping makes one round trip on the subscription's connection.
	Ping(ctx context.Context) error
	// Done is closed when the subscription has ended, for whatever reason.
	Done() <-chan struct{}
	// Close ends the subscription, and its connection with the last one on it. It
	// may be called more than once.
	Close()
}

// Call is one run of a script.
type Call struct {
	Script *Script
	Keys   []string
	Args   []string
}

// Result is what one Call of EvalAll gave.
type Result struct {
	Reply []string
	Err   error
}

// Script is one of holdfast's Lua scripts: Name for people, SHA for EVALSHA,
// Source for EVAL.
type Script = script.Script

// ServerError is an error that the server answered, word for word, such as
// "NOPERM User app has no permissions to run the 'evalsha' command".
type ServerError string

func (e ServerError) Error() string { return string(e) }

// NewScript makes a script from Lua source, for a program that has its own to
// run through a Store.
func NewScript(name, source string) *Script { return script.New(name, source) }
