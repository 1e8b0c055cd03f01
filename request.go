package holdfast

import (
	"context"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// request is one run of a script on its way. An answer may come after seconds, twice or
// never: the state decides what it still means. The request only has what it was about.
type request struct {
	call      driver.Call
	local     *localName
	tenure    *tenure       // whose id it speaks of
	minTTL    time.Duration // of a renewal: how long the lock key has to live, beyond the ttl
	node      *node         // of a quorum; nil on one master
	sent      clock.Instant // read before it was sent: what the answer proves begins here
	attempt   time.Duration
	ctx       context.Context // bounds the attempt; nil: perform makes one
	unsent    bool            // a renewal that no pipeline has taken yet
	reserving bool            // counted among the reservations of its tenure
	wholeOnly bool            // it does not fall back to the lock key only
	extendBy  time.Duration   // a renewal by Lease.Extend; else 0
	heldUntil clock.Instant   // of a check: until when the name is ours, as Redis says; 0: no answer yet
	result    chan<- error    // of a renewal: takes its result; nil: nobody waits for it
	onAnswer  func(r *request, a wire.Answer, err error, now clock.Instant)
	parts     []*request // locks of several names that travel as this one; see group

	acked, connected int // replicas: of a renewal with WaitReplicas
}

// pipelines bounds how many are under way. Requests that a server is too slow
// for must wait here. Otherwise they are given up and sent again, the server executes both,
// and in the end none is in time.
const pipelines = 128

// batch is how many calls do travel together: in a Cluster WAIT is for one
// server alone.
func (c *core) batch() int {
	if c.options.WaitReplicas > 0 && c.store.Sharded() {
		return 1
	}
	return call.PerPipeline
}

func (c *core) perform(r *request) {
	if c.acknowledges(r) {
		c.performAll([]*request{r}, new(int))
		return
	}
	ctx := r.ctx
	if ctx == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.ctx, r.attempt)
		defer cancel()
	}
	reply, err := c.eval(ctx, r)
	c.mu.Lock()
	c.returned(r)
	c.deliver(r, reply, err)
	c.unlock()
}

// worker performs a request, and then others: a fresh goroutine's stack grows
// several times on the way into a client library, which costs more than to keep
// a few.
func (c *core) worker(r *request) {
	const maxIdle = 16 // idle
	for {
		c.perform(r)
		if c.idle.Add(1) > maxIdle {
			c.idle.Add(-1)
			return
		}
		select {
		case r = <-c.work:
			c.idle.Add(-1)
		case <-c.stopped:
			return
		}
	}
}

func (c *core) eval(ctx context.Context, r *request) ([]string, error) {
	switch {
	case r.node != nil:
		return r.node.eval(ctx, r.call)
	case r.wholeOnly:
		return c.store.Eval(ctx, r.call)
	}
	return call.Eval(ctx, c.store, r.call)
}

// acknowledges reports whether replicas are to acknowledge a request: a renewal.
func (c *core) acknowledges(r *request) bool {
	return c.options.WaitReplicas > 0 && renews(r.call.Script)
}

// performAll sends requests in one pipeline, and counts it in underWay.
func (c *core) performAll(requests []*request, underWay *int) {
	results := c.evalAll(requests)
	c.mu.Lock()
	*underWay--
	for i, r := range requests {
		c.handleAnswer(r, results[i].Reply, results[i].Err)
	}
	c.unlock()
}

func (c *core) evalAll(requests []*request) []driver.Result {
	calls, attempt := pipelined(requests)
	ctx, cancel := context.WithTimeout(c.ctx, attempt)
	defer cancel()
	if n := requests[0].node; n != nil {
		return n.evalAll(ctx, calls)
	}
	if c.acknowledges(requests[0]) {
		return c.evalAcknowledged(ctx, requests, calls)
	}
	return call.EvalAll(ctx, c.store, calls)
}

func pipelined(requests []*request) (calls []driver.Call, attempt time.Duration) {
	for _, r := range requests {
		calls = append(calls, r.call)
		attempt = max(attempt, r.attempt)
	}
	return calls, attempt
}

func (c *core) handleAnswer(r *request, reply []string, err error) {
	c.inflight--
	now := c.clock.Now()
	if renews(r.call.Script) || r.node != nil {
		now = c.clock.Exact() // exact: a lease that Err calls lost is not prolonged
	}
	var a wire.Answer
	if err == nil {
		a, err = wire.DecodeAnswer(reply)
	}
	if r.node != nil {
		r.node.returned(r, err, now)
	}
	if c.closed {
		switch id := r.lockedID(); {
		case id != "" && c.exportedIDs.Of(id) == nil: // it may have run after its cancel
			c.lateCleanups = append(c.lateCleanups, c.endCalls(id, r.local, script.Cancel, r.node)...)
		case r.call.Script == script.QuorumUnlock && err != nil && wire.Transient(err): // others have sufficed
			c.lateCleanups = append(c.lateCleanups, cleanupCall{r.call, r.node})
		}
		return
	}
	err = wire.WithoutContext(err)
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, r.call.Keys[0])
	}
	if err == nil {
		c.lastAnswer = now
	}
	if r.node != nil {
		// A quorum has nodes that fail and nodes that answer all the time.
	} else if err != nil && wire.MayHaveMoved(err) {
		c.netFailed = true
	} else if c.netFailed {
		// The store answers again, perhaps another server than before: a renewal
		// shows now what it does not know of us.
		c.netFailed, c.netFailureOver = false, now
		c.renewAllSoon(now)
	}
	if a.Refused != "" {
		c.refusedToPublish(a.Refused, now)
	}
	r.onAnswer(r, a, err, now)
}

// lockedID is the id that a request may have put into the lock key or the queue, if any.
func (r *request) lockedID() string {
	switch r.call.Script {
	case script.Lock, script.SharedLock, script.QuorumLock, script.QuorumRepair, script.Adopt, script.Take, script.OnceLock:
		return r.call.Args[0]
	case script.Unlock:
		if len(r.call.Args) > 2 {
			return r.call.Args[2]
		}
	case script.Cooldown:
		return r.call.Args[4]
	}
	return ""
}

// unlockArgs leaves out what unlock takes for granted: each costs Redis more
// than a look at a key does.
func (n *localName) unlockArgs(id, fresh string) []string {
	switch {
	case fresh != "":
		return []string{id, n.shard, fresh, blockText}
	case n.shared.isShrunk():
		return n.shared.withFormerIDs([]string{id}, n.shard)
	case n.shard != "":
		return []string{id, n.shard}
	}
	return []string{id}
}

// keysFor are the keys of a script that speaks of this name.
func (n *localName) keysFor(s *driver.Script, args []string) []string {
	switch {
	case s == script.Adopt || s == script.Take:
		return n.keys.WithRevocation()
	case s == script.Held:
		return []string{n.keys.Lock(), n.keys.Revocation()}
	case s == script.OnceLock:
		return append(n.keys[:], n.keys.WithOnce()[1])
	case s != script.Renew:
		return n.keys[:]
	case n.renewKeys == nil: // it comes often, and is asked again and again
		n.renewKeys = n.keys.ToRenew()
	}
	if len(args) > 1 {
		return n.renewKeys
	}
	return n.renewKeys[:3]
}

// send notes a request; it goes out when the mutex is released. It is sent
// after now was read, so now is a safe start for what it will prove.
func (c *core) send(s *driver.Script, n *localName, t *tenure, now clock.Instant, args []string, answered func(*request, wire.Answer, error, clock.Instant)) *request {
	r := &request{
		call:     n.callFor(s, args),
		local:    n,
		tenure:   t,
		sent:     now,
		attempt:  c.options.attempt(),
		onAnswer: answered,
	}
	switch {
	case s != script.Renew:
		r.ctx = c.bounds.Attempt(c.ctx, now, r.attempt)
		c.outbox = append(c.outbox, r)
	case t.confirmed:
		r.unsent = true
		c.renewals = append(c.renewals, r)
	default: // a caller waits for it: it has a WAIT of its own
		c.outbox = append(c.outbox, r)
	}
	return r
}

// cleanup is a script that only removes state that the client no longer owns. It is
// repeated until Redis answers, or until the keys have expired by themselves.
type cleanup struct {
	c           *core
	call        driver.Call
	local       *localName
	node        *node // of a quorum; nil on one master
	until       clock.Instant
	coolUntil   clock.Instant // until when the name cools down; 0: it does not
	wait        time.Duration // before the next try
	timer       clock.Timer   // of the next try
	asking      *request      // the newest: a lock may have run after one before it
	lockKeyOnly bool          // the lock key is done, not the queue
	repeatAfter time.Duration // until it is sent once more after its answer; 0: it is not
	confirmed   bool          // it was answered, and is sent once more only for repeatAfter
	group       *cleanupGroup // the cleanups that it is part of; nil: nobody waits
}

// cleanUp starts a script that ends an id: the first of args. On a quorum that is done on
// each node, and nil is returned.
func (c *core) cleanUp(s *driver.Script, n *localName, now, until clock.Instant, args []string) *cleanup {
	if c.quorum != nil {
		c.quorum.cleanUp(args[0], n, false, now, until)
		return nil
	}
	return c.startCleanup(&cleanup{call: n.callFor(s, args), local: n, until: until}, now)
}

func (c *core) startCleanup(e *cleanup, now clock.Instant) *cleanup {
	e.c, e.wait = c, 10*time.Millisecond
	e.timer = clock.Timer{Fire: e.send}
	c.cleanups[e] = struct{}{}
	e.send(now)
	return e
}

// cleanupGroup is cleanups that do one thing, one on each node of a quorum, and the channel of
// the calls that wait for it.
type cleanupGroup struct {
	open int           // how many more have to end
	done chan struct{} // closed then
}

func (u *cleanupGroup) oneDone() {
	if u == nil {
		return
	}
	if u.open--; u.open == 0 {
		close(u.done)
	}
}

// whenDone returns a channel that is closed when a new cleanup has ended.
func (e *cleanup) whenDone() <-chan struct{} {
	e.group = &cleanupGroup{1, make(chan struct{})}
	return e.group.done
}

func (e *cleanup) send(now clock.Instant) {
	if e.c.closed {
		return
	}
	e.c.schedule.Stop(&e.timer)
	e.updateCooldown(now)
	if e.node != nil {
		e.asking = e.c.quorum.send(e.node, e.call.Script, e.local, nil, now, e.call.Args, e.handleAnswer)
	} else {
		e.asking = e.c.send(e.call.Script, e.local, nil, now, e.call.Args, e.handleAnswer)
		e.asking.call.Keys, e.asking.wholeOnly = e.call.Keys, e.lockKeyOnly
	}
}

// updateCooldown computes again how long the cool-down lasts.
func (e *cleanup) updateCooldown(now clock.Instant) {
	if e.coolUntil > 0 {
		e.call.Script, e.call.Args = e.local.endScript(e.call.Args[0], "", e.coolUntil, now)
	}
}

func (e *cleanup) handleAnswer(r *request, a wire.Answer, err error, now clock.Instant) {
	if e.node != nil && err == nil {
		e.c.quorum.yield(e.local, a, now)
	}
	switch {
	case e.asking != r: // it was sent once more, or is dropped
		return
	case err == nil && a.Word == "again":
		e.send(now)
		return
	case (err == nil && a.Word == "dropped" || err != nil && wire.Transient(err)) && now < e.until:
		e.lockKeyOnly = e.lockKeyOnly || err == nil
		// However many there are after an outage, some hundred go out per second.
		e.wait = min(2*e.wait, 5*time.Second+time.Duration(len(e.c.cleanups))*2*time.Millisecond)
		e.c.schedule.Set(&e.timer, now.Add(e.wait/2+e.c.jitter(e.wait)), now)
		return
	case err == nil && e.repeatAfter > 0:
		c := e.c
		e.confirmed = true
		c.removalProgress(e.call.Args[0])
		c.schedule.Set(&e.timer, now.Add(e.repeatAfter+time.Duration(len(c.cleanups))*2*time.Millisecond), now)
		if e.repeatAfter *= 2; e.repeatAfter > longestRepeat {
			e.repeatAfter = 0
		}
		return
	case err != nil && (e.node == nil || !wire.Transient(err)): // of a quorum some may be down for long
		e.c.warn("holdfast: cleanup failed; the remaining keys expire by themselves", "name", e.local.name, "script", e.call.Script.Name, "error", err)
	}
	e.end()
}

// end takes a cleanup off the list, done or not.
func (e *cleanup) end() {
	delete(e.c.cleanups, e)
	e.asking = nil
	e.c.schedule.Stop(&e.timer)
	e.c.cancels.Remove(e.call.Args[0], e)
	e.group.oneDone()
	e.c.removalProgress(e.call.Args[0])
	if e.node != nil {
		delete(e.node.staleIDs, e.call.Args[0])
	}
}

// longestRepeat is the longest pause before a cancel goes out again though it was answered:
// two minutes in all, in which TCP has caught up with a silence of one.
const longestRepeat = 64 * time.Second

// cancelTenure is cancelID for a tenure that was given up, or is over. Where a lock of it was not
// answered in time the cancel goes out again and again though it is answered: TCP may
// bring that lock later, by a connection which the client library has long closed, so
// that its answer never comes.
func (c *core) cancelTenure(t *tenure, now clock.Instant) {
	if e := c.cancelID(t.local.lockID(t), t.local, now); e != nil && t.mayRunLate {
		e.repeatAfter = time.Second
	}
}

// cancelID ends an id of ours that we neither hold nor wait for. The cleanup is nil on a
// quorum.
func (c *core) cancelID(id string, n *localName, now clock.Instant) *cleanup {
	if t := c.tenures[id]; t != nil {
		t.unlocks++ // it may release what an unlock then finds gone
	}
	if rests := c.minHoldEnd(id); rests > now {
		return c.coolDown(id, n, now, rests)
	}
	if e := c.cancels.Of(id); e != nil { // a lock may have run after it
		e.until, e.confirmed = now.Add(protocol.QueueTTL), false
		e.send(now)
		return e
	}
	e := c.cleanUp(script.Cancel, n, now, now.Add(protocol.QueueTTL), []string{id, n.shard})
	if e == nil { // of a quorum, where the lock key expires within a minute
		return nil
	}
	if oldest, full := c.cancels.Add(id, e); full {
		oldest.end()
	}
	return e
}

// maxCancels bounds the cancels that are not answered: as many as ids are remembered. A caller
// that locks many names while Redis is silent gives up one after the other. If there are too
// many, the oldest cancel is dropped: its id expires by itself.
const maxCancels = 1 << 16

// handOverAfterSplit does what is left of an unlock that fell back to the lock key only.
func (c *core) handOverAfterSplit(id string, n *localName, now clock.Instant) {
	c.startCleanup(&cleanup{
		call: n.callFor(script.Unlock, n.unlockArgs(id, "")), local: n,
		until: now.Add(n.ttl()), lockKeyOnly: true,
	}, now)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
