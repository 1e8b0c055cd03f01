package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"slices"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

// NewMixedRun is a run in which every primitive takes part, each at names
// that may be used so.
func NewMixedRun(seed uint64, plan *Plan) *Run {
	s := NewRun(seed, plan)
	s.mixed, s.orders.on = true, true
	s.names = []string{"n0", "n1", "rw", "sem", jobName}[:2+s.random.IntN(4)]
	if s.random.IntN(2) == 0 {
		s.names = []string{"n0", "n1", jobName}
	}
	return s
}

// jobName is the name of a Once in mixed runs, interval how often it may run.
const (
	jobName  = "job"
	interval = 400 * time.Millisecond
)

// isShared tells a name that is of a shared kind.
func isShared(name string) bool { return name == "rw" || name == "sem" }

// mutexes are the names that a mutex, an election and a Multi may lock.
func mutexes(s *Run) (names []string) {
	for _, name := range s.names {
		if !isShared(name) && name != jobName {
			names = append(names, name)
		}
	}
	return names
}

// onceMixed asks for a name in one of the ways that there are for it.
func (c *caller) onceMixed(name string) {
	switch n := c.random.IntN(8); {
	case isShared(name):
		onceShared(c, name)
	case name == jobName:
		c.onceJob(name)
	case n == 0:
		c.onceSeveral()
	case n <= 2:
		c.onceElected(name)
	default:
		c.onceMutex(name)
	}
}

// bounds gives a mutex a least and a longest hold, now and then.
func (c *caller) bounds(mutex *holdfast.Mutex) {
	if c.random.IntN(4) == 0 {
		mutex.MinHold = c.some(time.Second)
		c.run.Tally.Operation("MinHold")
	}
	if c.random.IntN(4) == 0 {
		mutex.MaxHold = c.some(500 * time.Millisecond)
		c.run.Tally.Operation("MaxHold")
	}
}

// onceElected leads for a while.
func (c *caller) onceElected(name string) {
	ctx := context.Background()
	election := c.link.Client.Election(name)
	if c.random.IntN(3) == 0 {
		_, err := election.Leader(ctx)
		c.did("Leader", err)
		if err != nil {
			allow(c, "Leader", err, holdfast.ErrUnreachable)
		}
	}
	h := c.run.Watch.Called(c.link, name)
	if c.random.IntN(4) == 0 {
		limited, cancel := context.WithTimeout(ctx, c.some(50*time.Millisecond))
		defer cancel()
		ctx = limited
	}
	lease, err := election.Campaign(ctx, c.label)
	c.did("Campaign", err)
	if err != nil {
		c.run.Watch.Leaves(h)
		c.refused(err)
		return
	}
	h.stays = true
	c.run.Watch.Granted(h, lease)
	c.hold(h, lease)
}

// onceJob runs a job at most once per interval.
func (c *caller) onceJob(name string) {
	s := c.run
	work, fails := c.some(50*time.Millisecond), c.random.IntN(6) == 0
	h := s.Watch.Called(c.link, name)
	granted := false
	err := c.link.Client.Once(context.Background(), name, interval, func(ctx context.Context, lease *holdfast.Lease) error {
		granted = true
		s.Watch.Granted(h, lease)
		ran(s, h)
		select {
		case <-time.After(work):
		case <-ctx.Done():
		}
		s.Watch.Leaves(h)
		if fails {
			s.Atomically(func() { s.runs = nil }) // it does not count
			return holdfast.Retryable(errors.New("a random run"))
		}
		return nil
	})
	if !granted {
		s.Watch.Leaves(h)
	}
	c.did("Once", err)
	if err == nil || granted || c.link.Dead() {
		return
	}
	if !errors.Is(err, holdfast.ErrNotDue) && !errors.Is(err, holdfast.ErrLost) && !errors.Is(err, holdfast.ErrUnknown) {
		c.refused(err)
	}
}

// ran checks that no two runs are nearer than the interval, where nothing was
// lost or taken: counted from the calls, which come before their grants.
func ran(s *Run, h *Held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.Watch.name(jobName).lost.IsZero() && s.stepped.Load() == 0 && s.masters == 0 && !h.Process.paused() && !h.Process.dead
	for _, before := range s.runs {
		if apart := h.Got.Sub(before.Called); kept && !before.Process.paused() && apart < interval*99/100 {
			s.Watch.broken("Once: %s runs %v after %s called", h.Process.Owner, apart, before.Process.Owner)
		}
	}
	s.runs = append(s.runs, h)
}

// writes is what a lease may do to data of its name: no older token may follow a
// newer one.
const writes = `local last = redis.call('GET', KEYS[1])
if last and tonumber(last) > tonumber(ARGV[1]) then return 'older' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', 86400000)
return 'written'`

// write changes data under a lease.
func (c *caller) write(h *Held, lease *holdfast.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	reply, err := lease.Eval(ctx, writes, []string{"data:" + h.name}, []string{fmt.Sprint(lease.Token())})
	c.did("Eval", err)
	var said driver.ServerError
	switch {
	case err == nil && strings.Join(reply, "") != "written":
		c.run.Watch.Broken("Eval: token %d of %s wrote after a newer one", lease.Token(), h.name)
	case err != nil && !errors.As(err, &said):
		allow(c, "Eval", err, holdfast.ErrLost)
	}
}

// did counts an operation and how it ended.
func (c *caller) did(what string, err error) {
	how := what + ": " + ending(err)
	c.run.Tally.Operation(how)
	c.run.Log.Ended(time.Since(c.run.began), c.label, how)
}

// ending is an error in a word or two.
func ending(err error) string {
	if lost := (*holdfast.LostError)(nil); errors.As(err, &lost) {
		return "lost, " + string(lost.Cause)
	}
	for _, e := range []struct {
		is   error
		word string
	}{
		{holdfast.ErrHeld, "held"}, {holdfast.ErrNotDue, "not due"}, {holdfast.ErrLost, "lost"}, {holdfast.ErrUnknown, "unknown"},
		{holdfast.ErrTooSlow, "too slow"}, {holdfast.ErrReplicas, "too few replicas"}, {holdfast.ErrUnreachable, "unreachable"},
		{holdfast.ErrTenure, "not the holder"}, {holdfast.ErrClosed, "closed"},
		{context.DeadlineExceeded, "given up"},
	} {
		if errors.Is(err, e.is) {
			return e.word
		}
	}
	if err != nil {
		return "another error"
	}
	return "done"
}

const multiLock, lockBatch = "multi_lock", "lock_batch"

// each are the calls that a call is to the watch: a lock of several names is one
// of each, a batch a lock or an unlock of each.
func each(call driver.Call) (calls []driver.Call) {
	switch call.Script.Name {
	case multiLock:
	case lockBatch:
		n := len(call.Keys) / 3
		for i, one := range callsInBatch(call.Args) {
			one.Keys = []string{call.Keys[2*i], call.Keys[2*i+1], call.Keys[2*n+i]}
			calls = append(calls, one)
		}
		return calls
	default:
		return []driver.Call{call}
	}
	for keys := range slices.Chunk(call.Keys, 3) {
		calls = append(calls, driver.Call{Script: call.Script, Keys: keys, Args: call.Args[len(calls):]})
	}
	return calls
}

// callsInBatch are the locks and unlocks that a batch with such arguments does, without keys.
func callsInBatch(args []string) (calls []driver.Call) {
	for one := range slices.Chunk(args, 2) {
		c := driver.Call{Script: script.Lock, Args: one[:1]}
		if one[1] == "" {
			c.Script = script.Unlock
		}
		calls = append(calls, c)
	}
	return calls
}

// answerTo is what the answer says to one of these calls.
func answerTo(calls []driver.Call, i int, reply []string) []string {
	if len(reply) != len(calls) {
		return reply
	}
	return reply[i : i+1]
}

// Belief is what a holder believes of one name.
type Belief interface {
	Token() int64
	Err() error
	Remaining() time.Duration
}

// ofSeveral is a lease of several names as that of one.
type ofSeveral struct {
	*holdfast.MultiLease
	name string
}

func (o ofSeveral) Token() int64 { return o.MultiLease.Token(o.name) }

// onceSeveral asks for all names, in an order of its own.
func (c *caller) onceSeveral() {
	s := c.run
	names := mutexes(s)
	c.random.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	multi := c.link.Client.Multi(names...)
	held := make([]*Held, len(names))
	for i, name := range names {
		held[i] = s.Watch.Called(c.link, name)
	}
	var lease *holdfast.MultiLease
	var err error
	ctx := context.Background()
	switch n := c.random.IntN(6); {
	case n <= 1:
		lease, err = multi.TryLock(ctx)
	case n == 2:
		limited, cancel := context.WithTimeout(ctx, c.some(50*time.Millisecond))
		lease, err = multi.Lock(limited)
		cancel()
	default:
		lease, err = multi.Lock(ctx)
	}
	c.did("Multi", err)
	if err != nil {
		for _, h := range held {
			s.Watch.Leaves(h)
		}
		c.refused(err)
		return
	}
	for i, h := range held {
		s.Watch.Granted(h, ofSeveral{lease, names[i]})
	}
	select {
	case <-time.After(c.some(20 * time.Millisecond)):
	case <-lease.Done():
	}
	for _, h := range held {
		s.Watch.Leaves(h)
	}
	if err := lease.Release(); err != nil && !errors.Is(err, holdfast.ErrLost) && !errors.Is(err, holdfast.ErrUnknown) {
		s.Watch.Broken("Release of several says %v", err)
	}
}
