package holdfast

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// request is one run of a script on its way. Whatever comes back, an answer
// after seconds, twice or never, the state decides what it still means; the
// request only carries what it was about.
type request struct {
	call     Call
	line     *line
	tenure   *tenure // whose id it speaks of
	sent     instant // read before it was sent: what the answer proves begins here
	attempt  time.Duration
	answered func(r *request, a answer, err error, now instant)
}

// pipeline bounds how many calls travel together.
const pipeline = 128

func (c *core) perform(r *request) {
	ctx, cancel := context.WithTimeout(c.ctx, r.attempt)
	reply, err := c.store.Eval(ctx, r.call)
	reply, err = c.evalAlone(ctx, r.call, reply, err)
	cancel()
	c.mu.Lock()
	c.arrived(r, reply, err)
	c.unlock()
}

// performAll sends renewals in their order, nearest deadline first.
func (c *core) performAll(requests []*request) {
	if len(requests) == 1 {
		c.perform(requests[0])
		return
	}
	for batch := range slices.Chunk(requests, pipeline) {
		calls := make([]Call, len(batch))
		for i, r := range batch {
			calls[i] = r.call
		}
		ctx, cancel := context.WithTimeout(c.ctx, batch[0].attempt)
		results := c.store.EvalAll(ctx, calls)
		for i, a := range results {
			results[i].Reply, results[i].Err = c.evalAlone(ctx, calls[i], a.Reply, a.Err)
		}
		cancel()
		c.mu.Lock()
		for i, r := range batch {
			c.arrived(r, results[i].Reply, results[i].Err)
		}
		c.unlock()
	}
}

func (c *core) arrived(r *request, reply []string, err error) {
	c.inflight--
	now := c.clock.now()
	var a answer
	if err == nil {
		a, err = decodeAnswer(reply)
	}
	if c.closed {
		if r.call.Script == scriptLock { // it may have run after its cancel
			c.late = append(c.late, Call{scriptCancel, r.call.Keys, []string{r.tenure.id, r.line.shard}})
		}
		return
	}
	if said, ok := asServerError(err); ok {
		err = explain(said, r.call.Keys[0])
	}
	if err != nil && passing(err) {
		c.troubled = true
	} else if c.troubled {
		// The store answers again, perhaps another server than before: what
		// it does not know of us we want to hear now.
		c.troubled = false
		c.renewAll(now)
	}
	r.answered(r, a, err, now)
}

// send notes a request; it goes out when the mutex is released. It is sent
// after now was read, so now is a safe start for what it will prove.
func (c *core) send(s *Script, l *line, t *tenure, now instant, args []string, answered func(*request, answer, error, instant)) *request {
	r := &request{
		call:     Call{Script: s, Keys: l.keyList, Args: args},
		line:     l,
		tenure:   t,
		sent:     now,
		attempt:  c.options.attempt(),
		answered: answered,
	}
	if s == scriptRenew {
		c.renewals = append(c.renewals, r)
	} else {
		c.outbox = append(c.outbox, r)
	}
	return r
}

// errand is a script that only cleans up. It is sent again and again until it
// was answered, or until has passed and the keys have expired by themselves.
type errand struct {
	c     *core
	call  Call
	line  *line
	until instant
	wait  time.Duration // before the next try
}

func (c *core) errand(s *Script, l *line, now, until instant, args []string) {
	e := &errand{c: c, call: Call{s, l.keyList, args}, line: l, until: until, wait: 10 * time.Millisecond}
	c.errands[e] = struct{}{}
	e.send(now)
}

func (e *errand) send(now instant) {
	if !e.c.closed {
		e.c.send(e.call.Script, e.line, nil, now, e.call.Args, e.answered)
	}
}

func (e *errand) answered(_ *request, a answer, err error, now instant) {
	switch {
	case err == nil && a.word == "again":
		e.send(now)
		return
	case (err == nil && a.word == "dropped" || err != nil && passing(err)) && now < e.until:
		e.wait = min(2*e.wait, 5*time.Second)
		e.c.later(now.add(e.wait/2+e.c.jitter(e.wait)), e.send)
		return
	case err != nil:
		e.c.options.Logger.Warn("holdfast: clean-up failed; what is left behind expires by itself", "name", e.line.name, "script", e.call.Script.Name, "error", err)
	}
	delete(e.c.errands, e)
}

// queueLife is how long Q outlives its last lock, see lock.lua: it holds ids for
// longer than L does.
const queueLife = 30 * time.Minute

// cancelID ends an id of ours that we neither hold nor wait for.
func (c *core) cancelID(id string, l *line, now instant) {
	c.errand(scriptCancel, l, now, now.add(queueLife), []string{id, l.shard})
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
