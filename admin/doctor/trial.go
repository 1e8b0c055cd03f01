package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// trial locks a name that nobody else uses, with the scripts of the client. It does so step by
// step, to find which step fails.
type trial struct {
	d       *doctor
	keys    *keyspace.Keys
	shard   string // what the sharded channel ends with
	client  string // not the Client's own: what it is pushed is not for it
	channel string
	pushed  chan string
	refused string // what the server said when it refused to publish
	silent  error  // why there was no answer; nothing is tried any more then
	wrote   bool
}

// newTrial makes a name; n makes the names of one Check differ.
func newTrial(d *doctor, n int) *trial {
	t := &trial{d: d, client: keyspace.NewClientID(d.random), pushed: make(chan string, 16)}
	l := fmt.Sprintf("%scheck-%s-%d", d.options.Prefix, t.client, n)
	t.keys = keyspace.KeysBeside(l)
	if d.caller.Store.Sharded() {
		t.shard = t.keys.ShardSuffix()
	}
	t.channel = keyspace.PushChannel(t.client, t.shard)
	return t
}

// facts are the arguments of the script check.
func (t *trial) facts() []string {
	if t.shard != "" {
		return []string{t.channel, "s"}
	}
	return []string{t.channel, ""}
}

// trialTTL bounds how long the keys of a trial outlive a process that dies in it.
const trialTTL = time.Minute

func (t *trial) id() string {
	return keyspace.NewID(t.client+".", t.d.random, keyspace.Suffix(trialTTL, keyspace.CleanOwner(t.d.options.Owner)))
}

func (t *trial) eval(ctx context.Context, s *driver.Script, args ...string) ([]string, error) {
	if t.silent != nil {
		return nil, t.silent
	}
	keys := t.keys[:]
	if s == script.Renew {
		keys = t.keys.ToRenew()
	}
	reply, err := t.d.caller.Run(ctx, t.d.timeout(), driver.Call{Script: s, Keys: keys, Args: args})
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, t.keys.Lock())
	} else {
		t.silent = err
	}
	return reply, err
}

// step runs a script that must answer with the word.
func (t *trial) step(ctx context.Context, want wire.Word, s *driver.Script, args ...string) error {
	reply, err := t.eval(ctx, s, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	t.wrote = true
	a, err := wire.DecodeAnswer(reply)
	if err != nil {
		return odd(fmt.Sprintf("%s: %v", s.Name, err))
	}
	if a.Refused != "" {
		t.refused = a.Refused
	}
	if a.Word != want {
		return odd(fmt.Sprintf("%s was answered %q, not %q: another program deletes keys, or the server is not Redis", s.Name, a.Word, want))
	}
	return nil
}

// odd is what a server answered that does not fit.
type odd string

func (e odd) Error() string { return string(e) }

// steps runs one step after the other until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// lock takes, keeps and gives back a free name.
func (t *trial) lock(ctx context.Context) Result {
	id, again := t.id(), t.id()
	err := steps(
		func() error { return t.step(ctx, wire.Granted, script.Lock, id, "try", "0", t.shard) },
		func() error { return t.step(ctx, wire.Held, script.Lock, again, "try", "0", t.shard) },
		func() error { return t.step(ctx, wire.Renewed, script.Renew, id, "1") },
		func() error { return t.step(ctx, wire.Kept, script.RenewKeyOnly, id) },
		func() error { return t.step(ctx, wire.Released, script.Unlock, id, t.shard) },
		func() error { return t.step(ctx, wire.Granted, script.Lock, again, "try", "0", t.shard) },
		func() error { return t.step(ctx, wire.Dropped, script.UnlockKeyOnly, again) },
	)
	if err != nil {
		return broken("lock", err)
	}
	return Result{Name: "lock", State: OK, Finding: "locked, renewed and released a name"}
}

// wait joins the queue, is notified of the release, and leaves the queue.
func (t *trial) wait(ctx context.Context) Result {
	failed := func(err error) Result {
		check := broken("wait", err)
		check.Consequence = "callers cannot wait for a held name"
		return check
	}
	if t.silent != nil {
		return failed(t.silent)
	}
	sub, err := t.subscribe(ctx)
	if err != nil {
		return failed(fmt.Errorf("subscribe: %w", err))
	}
	defer sub.Close()
	holder, waiter, third := t.id(), t.id(), t.id()
	recalled, granted := true, true
	err = steps(
		func() error { return t.step(ctx, wire.Granted, script.Lock, holder, "try", "0", t.shard) },
		func() error { return t.step(ctx, wire.Queued, script.Lock, waiter, "wait", "0", t.shard) },
		func() error { recalled = t.receives(ctx, wire.PushRecall, holder); return nil },
		func() error { return t.step(ctx, wire.Queued, script.Lock, waiter, "wait", "0", t.shard) }, // a second look
		func() error { return t.ping(ctx, sub) },
		func() error { return t.step(ctx, wire.Queued, script.Lock, third, "wait", "0", t.shard) },
		func() error { return t.step(ctx, wire.Cancelled, script.Cancel, third, t.shard) },
		func() error { _, err := t.eval(ctx, script.Inspect, "1", t.shard); return err },
		func() error { return t.step(ctx, wire.Released, script.Unlock, holder, t.shard) },
		func() error { granted = t.receives(ctx, wire.PushGrant, waiter); return nil },
		func() error { return t.step(ctx, wire.Released, script.Unlock, waiter, t.shard) },
	)
	switch {
	case err != nil:
		return failed(err)
	case t.refused != "":
		return Result{
			Name: "wait", State: Warn, Finding: "the server refuses to publish: " + t.refused,
			Consequence: "waiters poll several times a second instead of being notified",
			Fix:         "grant +publish, in a Cluster +spublish, and the channels &" + keyspace.Channels,
		}
	case !recalled || !granted:
		return Result{
			Name: "wait", State: Fail, Finding: "a published message did not arrive",
			Consequence: "a waiter gets a name seconds after its release, or when the holder's ttl ends",
			Fix:         "look for a proxy that drops messages, or a timeout for idle connections",
		}
	case t.d.caller.Store.Sharded() && !t.letsGo(ctx, sub):
		return Result{
			Name: "wait", State: Warn, Finding: "the server refuses to unsubscribe: the right +sunsubscribe is missing",
			Consequence: "each name with waiters has its own connection",
			Fix:         "grant +sunsubscribe",
		}
	}
	return Result{Name: "wait", State: OK, Finding: "joined the queue, was notified of the release, left the queue"}
}

// letsGo reports whether a channel can be given up without the connection, which its
// subscription shares with others of a Cluster.
func (t *trial) letsGo(ctx context.Context, beside driver.Subscription) bool {
	other := t.channel + ":2"
	sub, err := call.Subscribe(ctx, t.d.caller.Store, other, func(string) {})
	if err != nil {
		return true // the other subscription would have failed, too
	}
	sub.Close()
	ctx, cancel := context.WithTimeout(ctx, t.d.timeout())
	defer cancel()
	for { // until the server knows that it ended
		reply, err := t.d.caller.Run(ctx, t.d.timeout(), driver.Call{Script: listeners, Keys: []string{t.keys.Lock()}, Args: []string{other}})
		if err != nil || len(reply) == 1 && reply[0] == "0" {
			break
		}
	}
	select {
	case <-beside.Done():
		return false
	default:
		return true
	}
}

// listeners counts the connections that listen to a channel of a Cluster.
var listeners = driver.NewScript("listeners", "return redis.call('PUBSUB', 'SHARDNUMSUB', ARGV[1])[2]")

// receives waits for a push about an id. Where the server refused to publish there
// is none.
func (t *trial) receives(ctx context.Context, word wire.PushWord, id string) bool {
	if t.refused != "" {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, t.d.timeout())
	defer cancel()
	for {
		select {
		case payload := <-t.pushed:
			if m, err := wire.DecodePush(payload); err == nil && m.Word == word && m.ID == id {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// subscribe keeps what is pushed, as far as there is room.
func (t *trial) subscribe(ctx context.Context) (driver.Subscription, error) {
	sub, err := call.Subscribe(ctx, t.d.caller.Store, t.channel, func(payload string) {
		select {
		case t.pushed <- payload:
		default:
		}
	})
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, "")
	}
	return sub, wire.WithoutContext(err)
}

// ping asks whether the subscription is alive, as waiters do every few seconds.
func (t *trial) ping(ctx context.Context, sub driver.Subscription) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- sub.Ping(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = wire.WithoutContext(ctx.Err())
	}
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, "")
	}
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// list looks for a key, any will do: the first page of a SCAN.
func (t *trial) list(ctx context.Context) Result {
	if t.silent != nil {
		return broken("list", t.silent)
	}
	ctx, cancel := context.WithTimeout(ctx, t.d.timeout())
	defer cancel()
	for _, err := range t.d.caller.Store.Scan(ctx, "*") {
		if err == nil {
			break
		}
		if said, ok := wire.AsServerError(err); ok {
			err = wire.Explain(said, "")
		}
		return Result{
			Name: "list", State: Warn, Finding: err.Error(),
			Consequence: "names can be locked, but not listed (Admin.Names, holdfast ls)", Fix: "grant +scan to this user",
		}
	}
	return Result{Name: "list", State: OK, Finding: "keys can be listed"}
}

// pingTimeout bounds the wait for the answer to a ping.
const pingTimeout = 5 * time.Second

// rounds is how many round trips are measured.
const rounds = 10

// time measures round trips, and between the two ends of the shortest the
// server's clock.
func (t *trial) time(ctx context.Context) []Result {
	var slowest, ahead time.Duration
	shortest := time.Duration(1<<63 - 1)
	for range rounds {
		sent := time.Now()
		reply, err := t.eval(ctx, script.UnlockKeyOnly, t.id())
		took := time.Since(sent)
		var a wire.Answer
		if err == nil {
			a, err = wire.DecodeAnswer(reply)
		}
		if err != nil {
			return []Result{broken("round trip", err)}
		}
		slowest = max(slowest, took)
		if took < shortest {
			shortest = took
			ahead = beyond(time.UnixMicro(a.Server), sent.Round(0), took)
		}
	}
	return []Result{t.d.checkTime(slowest), checkClock(ahead)}
}

// beyond is how far a reading is before the time sent, or after that and took.
func beyond(reading, sent time.Time, took time.Duration) time.Duration {
	if d := reading.Sub(sent); d < 0 {
		return d
	}
	return max(0, reading.Sub(sent.Add(took)))
}

// sweepTime bounds the deletion of the trial's keys. They expire in any case.
const sweepTime = 2 * time.Second

func (t *trial) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
	defer cancel()
	if !t.wrote || t.silent != nil {
		return
	}
	_, _ = t.eval(ctx, script.Sweep) // they expire in any case
}
