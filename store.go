package holdfast

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-go/holdfast/internal/script"
)

// Store connects holdfast to one Redis or Valkey deployment. A driver implements it
// with a client library and has no lock logic of its own. Package storetest tests a
// driver.
//
// All methods must be safe for concurrent use. On an established connection a call must
// end by the deadline of its ctx, which it always has. The [Client] also bounds calls
// itself. A driver must not leak resources after the server has answered or the
// connection has ended. A driver may repeat an interrupted call: every script is
// correct if it runs twice or late.
type Store interface {
	// Eval runs one script by its SHA, or by its source if the server does not know it.
	// It returns the elements of the reply as text, integers in decimal. A reply that
	// is not an array has one element; nil has none. A refusal of the server is a
	// [ServerError], word for word. After any other error it is unknown whether the
	// script ran.
	Eval(ctx context.Context, call Call) ([]string, error)

	// EvalAll runs the calls in one pipeline, if the deployment allows, and returns one
	// Result for each, in their order.
	EvalAll(ctx context.Context, calls []Call) []Result

	// EvalWait runs the calls in one pipeline, followed by WAIT for the number of
	// replicas on the same connection. WAIT takes at most timeout, which is at least 1
	// ms. EvalWait returns one Result for each call. acked is the number of replicas
	// that acknowledged all of them. The error is that of WAIT and says nothing about
	// the calls. In a Cluster all keys of all calls are in one slot.
	EvalWait(ctx context.Context, calls []Call, replicas int, timeout time.Duration) (results []Result, acked int, err error)

	// Subscribe listens to one channel on a connection that is used for subscriptions
	// only. It blocks until the server has confirmed. It calls message for each message
	// in order, from one goroutine; message must not block. Only messages published
	// after the call count, also on a shared connection. A driver must not repair a
	// broken subscription: it ends.
	Subscribe(ctx context.Context, channel string, message func(payload string)) (Subscription, error)

	// Scan yields the keys that match a glob pattern, on every node, by SCAN. A key may
	// come twice. An error ends the iteration.
	Scan(ctx context.Context, match string) iter.Seq2[string, error]

	// Sharded reports whether this is a Redis Cluster, where channels use SPUBLISH and
	// SSUBSCRIBE in the slot of their name.
	Sharded() bool
}

// SendsOnce is an optional interface of a [Store]. With it [Lease.Release] returns
// [ErrLost] if Redis reports that the lock was gone.
type SendsOnce interface {
	// SendsOnce reports whether each call of Eval and EvalAll runs at most once.
	// Neither the driver nor its client library may repeat a call that may have run.
	SendsOnce() bool
}

// Subscription is one confirmed subscription of a [Store].
type Subscription interface {
	// Ping makes one round trip on the subscription's connection.
	Ping(ctx context.Context) error
	// Done is closed when the subscription has ended, for any reason.
	Done() <-chan struct{}
	// Close ends the subscription, and its connection if it is the last one on it. It
	// may be called more than once.
	Close()
}

// Call is one run of a script.
type Call struct {
	Script *Script
	Keys   []string
	Args   []string
}

// Result is the result of one Call of [Store.EvalAll].
type Result struct {
	Reply []string
	Err   error
}

// Script is a Lua script: a name for people, the SHA for EVALSHA and the source for
// EVAL.
type Script = script.Script

// ServerError is the text of an error reply of the server. An example is "NOPERM User
// app has no permissions to run the 'evalsha' command".
type ServerError string

func (e ServerError) Error() string { return string(e) }

// NewScript returns a script with a name and Lua source, for a program that runs its
// own through a [Store].
func NewScript(name, source string) *Script { return script.New(name, source) }
