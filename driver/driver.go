// Package driver has what a driver implements: a [Store] connects holdfast to one Redis
// or Valkey deployment through a client library. Programs that use holdfast open a Store
// with a ready driver, such as rueidisstore or goredisstore, and give it to holdfast.New.
//
// For drivers, [UnknownScript], [Redirected] and [WrongServer] read errors of the server,
// [Redial] follows an address that moves, [Channels] does most of Subscribe, and [ScanPage]
// reads a page of keys. Package drivertest tests a
// driver. docs/drivers.md shows how to write one.
package driver

import (
	"context"
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing is secured by it
	"encoding/hex"
	"iter"
	"time"
)

// Store connects holdfast to one Redis or Valkey deployment. A driver implements it
// with a client library and has no lock logic of its own. It may use RESP2 or RESP3.
// A holdfast.Client never closes its Store.
//
// All methods must be safe for concurrent use. The number of simultaneous calls has no
// limit. If the driver limits its connections, a call waits for one until its ctx ends.
//
// The ctx of every call has a deadline; only the ctx of Scan may have none. A call on an
// established connection must return by that deadline; a call that is still connecting may
// take longer. A call may ignore a cancel before the deadline. The Client returns to its
// caller at a cancel and at the deadline in all cases.
//
// When the server has answered a call, or the connection of the call has ended, the driver
// must free all that the call used: goroutines, connections, timers. A driver may repeat an
// interrupted call: every script of holdfast is correct if it runs twice or late.
type Store interface {
	// Eval runs one script by its SHA. If the server answers NOSCRIPT, Eval runs it again
	// by its source.
	//
	// Eval returns the elements of the reply as text, integers in decimal. A reply that is
	// not an array is one element. A nil reply and an empty array are no elements. A nil
	// inside an array is an empty string. An array inside an array is an error. An error
	// inside an array is the error of the whole call.
	//
	// An error reply of the server is a [ServerError] with its whole text, for example
	// "ERR unknown command". The driver may wrap it. After any other error it is unknown
	// whether the script ran. A refused login is such an other error: no call was answered.
	//
	// If the answer is [WrongServer], the driver leaves the connection and dials again, at
	// most once a second, unless its client library learns of a failover in another way.
	// [Redial] does that.
	Eval(ctx context.Context, call Call) ([]string, error)

	// EvalAll runs the calls in one pipeline, or in one for each node of a Cluster. It
	// gets 1 to 128 calls and may split them. It returns one Result for each call, in
	// the order of the calls. If one call fails, the others run nevertheless. EvalAll runs
	// the calls that got NOSCRIPT again by their source, and only those. When ctx ends,
	// each call without an answer gets an error, for example ctx.Err(). An answered call
	// may keep its reply.
	EvalAll(ctx context.Context, calls []Call) []Result

	// EvalWait runs the calls (at least 1) in one pipeline, followed by WAIT for the number of
	// replicas. WAIT must be on the same connection, because it counts only what that
	// connection wrote. In a Cluster all keys of all calls are in one slot. WAIT gets the
	// timeout in whole ms, at least 1: with 0 it waits for ever.
	//
	// EvalWait always returns one Result for each call, also if ctx has ended before. acked
	// is the answer of WAIT: the number of replicas that acknowledged all calls. The error
	// is that of WAIT and says nothing about the calls. WAIT is also sent if a call fails,
	// and if replicas is 0. After NOSCRIPT the driver may send all calls again by source,
	// then WAIT.
	EvalWait(ctx context.Context, calls []Call, replicas int, timeout time.Duration) (results []Result, acked int, err error)

	// Subscribe listens to one channel, on a connection that is used for subscriptions
	// only. It returns when the server has confirmed the subscription. It calls message for
	// each message, in order, from one goroutine; message does not block. It must not
	// deliver a message that was published before the call of Subscribe. If
	// subscriptions share a connection, the driver drops late messages of an earlier
	// subscription to the same channel. A broken subscription ends: the driver must not
	// repair it. The end of ctx does not end a confirmed subscription. A message after
	// Close does no harm.
	//
	// If Sharded returns true, Subscribe sends SSUBSCRIBE to the master of the channel's
	// slot. That slot is computed as that of a key, from the hash tag in the channel's
	// name. If the slot moves, the subscription ends.
	//
	// [Channels] does all of this, except connect, send and read.
	Subscribe(ctx context.Context, channel string, message func(payload string)) (Subscription, error)

	// Scan sends SCAN to every master until all pages are read, and yields the keys that
	// match a glob pattern. It may yield a key twice. It may leave out keys above 1,023
	// bytes: holdfast has none. It yields an error as the last pair.
	Scan(ctx context.Context, match string) iter.Seq2[string, error]

	// Sharded reports whether this is a Redis Cluster. There the scripts send pushes with
	// SPUBLISH.
	Sharded() bool
}

// SendsOnce is an optional interface of a [Store]. With it, Release of a holdfast.Lease
// returns ErrLost if Redis reports that the lock was gone.
type SendsOnce interface {
	// SendsOnce reports whether each call of Eval and EvalAll runs at most once.
	// Neither the driver nor its client library may repeat a call that may have run. A
	// call that the server refused with [WrongServer] has not run.
	// SendsOnce must not block.
	SendsOnce() bool
}

// Subscription is one confirmed subscription of a [Store].
type Subscription interface {
	// Ping makes one round trip on the subscription's connection. It returns nil only if
	// the server has answered. If ctx ends first, the Client closes the subscription, and
	// Ping may end it. Pings do not overlap, but Close may run during a Ping.
	Ping(ctx context.Context) error
	// Done is closed when the subscription has ended: after Close, and when its connection
	// breaks.
	Done() <-chan struct{}
	// Close ends the subscription. It also closes the connection if no other subscription
	// uses it. Further calls do nothing.
	Close()
}

// Call is one run of a script.
type Call struct {
	Script *Script
	Keys   []string
	Args   []string
}

// Result is the result of one Call of [Store.EvalAll] or [Store.EvalWait].
type Result struct {
	Reply []string
	Err   error
}

// Script is a Lua script. Make it with [NewScript].
type Script struct {
	Name   string // for people and metrics
	Source string // the argument of EVAL
	SHA    string // the argument of EVALSHA: the SHA-1 of Source in hexadecimal
}

// NewScript returns a script with a name and Lua source. A program can use it to run its
// own scripts through a [Store].
func NewScript(name, source string) *Script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	return &Script{Name: name, Source: source, SHA: hex.EncodeToString(sum[:])}
}
