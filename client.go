package holdfast

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/details"
	"github.com/holdfast-go/holdfast/internal/guarded"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
)

// Client locks names in one Redis deployment. It is safe for concurrent use. Make one
// for each process: callers of one Client that wait for the same name share one place
// in Redis.
type Client struct {
	// The core does not know the Client, so that one that is dropped without
	// Close can be noticed.
	*core
	front *QuorumClient // of a quorum: what the program got; it lives as long as the Client
}

// core is the engine behind a Client: the one mutex, the loop, and the calls to the driver.
// The process decides about locks, and the mutex guards it, too. The mutex is never held
// across I/O and never while code of the user runs: what has to happen outside is noted in
// outbox, batcher, renewals and afterUnlock, and begins when unlock releases it.
type core struct {
	process      *machine.Process
	store        driver.Store   // nil on a quorum
	servers      servers        // one master, or the nodes of a quorum
	nodes        []*node        // of a quorum
	calls        *call.Caller   // runs scripts for callers that wait for them
	recordCalls  *call.Caller   // the same, and goes on after Close; see book
	replicaCalls *call.Replicas // runs renewals that replicas must acknowledge
	options      Options
	clock        *clock.Clock
	details      *details.Note // nil without Options.Details

	ctx        context.Context // ends with the Client
	cancel     context.CancelFunc
	stopped    <-chan struct{}
	events     chan Event    // nil without OnEvent
	eventsDone chan struct{} // closed when OnEvent got all events; nil without it
	waiterPool sync.Pool     // of *pending
	work       chan sending  // to workers that are idle
	idle       atomic.Int32  // how many those are
	guarded    guarded.Scripts

	turnstile      sync.Mutex // in front of mu, for the subscriptions
	mu             sync.Mutex
	closeDone      chan struct{}                   // made by Close, and closed when all of it is done
	closeErr       error                           // what it returns
	observerGroups map[string]*observerGroup       // of elections that are observed here, by lock key
	keepers        map[*machine.Subscriber]*keeper // of subscriptions that are open
	waits          map[any]chan struct{}           // closed when the process is done with the key
	asked          map[any]chan<- error            // gets how a request or a release went
	watched        map[*machine.Turn]*watch        // turns for whose end somebody waits
	inflight       int                             // requests that have not come back
	detailsWritten bool                            // Options.Details were written less than details.Every ago
	droppedEvents  int                             // events dropped

	bounds      call.Bounds
	outbox      []sending          // to send
	batcher     batcher            // of those, what waits to travel together
	batchers    []*batcher         // that one, or those of the nodes of a quorum
	renewals    []*machine.Request // to send in pipelines, in this order
	pipelines   int                // under way
	afterUnlock []func()           // to run
}

// New returns a Client that locks names in store. It does not connect: the first call
// does. Nil options mean the defaults. New panics if store is nil or an option is out
// of range.
//
// Call [Client.Close] at the end of the program. A Client that is garbage-collected is
// closed: its leases end, and [Options.Logger] gets a warning. These values keep a
// Client alive:
//
//   - the Client, and each lock made by it
//   - a call that waits
//   - a [Lease], also after its Release, and a context from [Lease.Context]
//   - a channel from [Lease.Done] or from such a context, until the lease ends
//
// A token or a name does not keep it alive. So keep the Lease while you need the lock.
func New(store driver.Store, options *Options) *Client {
	if store == nil {
		panic("holdfast: New needs a Store, such as rueidisstore.New(client) or embedded.Open(nil)")
	}
	v := options.withDefaults()
	c := newCore(v, store, true)
	c.store = store
	return c.start()
}

// newCore makes a core that talks to nobody yet. carrier may lend a clock and
// chance. The server keeps a queue, or not.
func newCore(options Options, carrier driver.Store, queue bool) *core {
	var lent clock.Seam
	if carrier, ok := carrier.(clock.Carrier); ok {
		lent = carrier.Seam()
	}
	if lent.Random == nil {
		lent.Random = rand.Uint64 // seeded by the system, ChaCha8: not to be guessed
	}
	c := &core{
		options: options,
		clock:   clock.New(lent.Now),
		work:    make(chan sending),
		keepers: make(map[*machine.Subscriber]*keeper),
		waits:   make(map[any]chan struct{}),
		asked:   make(map[any]chan<- error),
		watched: make(map[*machine.Turn]*watch),
	}
	c.process = machine.New(machine.Settings{
		Prefix: options.Prefix, TTL: options.TTL, Owner: options.Owner, Linger: options.Linger, WaitReplicas: options.WaitReplicas, Queue: queue, Sharded: carrier != nil && carrier.Sharded(),
		RepairOrphans: options.RepairOrphans, Events: options.OnEvent != nil,
		SendsOnce: func() bool { s, ok := carrier.(driver.SendsOnce); return ok && s.SendsOnce() },
		Wall:      func() int64 { return time.Now().UnixMicro() },
	}, coreHost{c}, lent.Random)
	c.servers = master{c}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.stopped = c.ctx.Done()
	c.batcher.timer = c.batcherTimer(&c.batcher)
	c.batchers = []*batcher{&c.batcher}
	return c
}

// start sets a core going.
func (c *core) start() *Client {
	if c.options.OnEvent != nil {
		c.events, c.eventsDone = make(chan Event, 1024), make(chan struct{})
		go func() {
			defer close(c.eventsDone)
			deliverEvents(c.options.OnEvent, c.events, c.stopped)
			c.mu.Lock()
			missed := c.droppedEvents
			c.mu.Unlock()
			if missed > 0 {
				c.options.OnEvent(Dropped{missed})
			}
		}()
	}
	c.calls = &call.Caller{Store: c.store, Life: c.ctx, Clock: c.clock, Attempt: c.process.Attempt(), Closed: c.wasClosed}
	c.recordCalls = &call.Caller{Store: c.store, Life: c.ctx, Clock: c.clock, Attempt: c.process.Patience()}
	c.replicaCalls = &call.Replicas{Store: c.store, Clock: c.clock, Want: c.options.WaitReplicas}
	c.details = c.noteOfDetails()
	go c.run()

	client := &Client{core: c}
	client.noticeDrop()
	return client
}

// Owner returns the label of this Client's leases: see [Options.Owner].
func (c *Client) Owner() string { return c.options.Owner }

// ID returns the hash that identifies this Client among the holders and waiters of
// package admin.
func (c *Client) ID() string { return keyspace.HashClient(c.process.ClientID) }

// Prefix returns what stands before every name and makes its key, see [Options.Prefix].
func (c *Client) Prefix() string { return c.options.Prefix }

// TTL returns [Options.TTL].
func (c *Client) TTL() time.Duration { return c.options.TTL }

// Store returns the store that [New] got.
func (c *Client) Store() driver.Store { return c.store }

// unlock releases the mutex and begins what was noted under it.
func (c *core) unlock() {
	for _, f := range c.unlockAndSend() {
		f()
	}
}

// unlockAndPerform is unlock. If the call blocks and the request is new, it also sends the
// request from this very goroutine, which would only wait for the answer of another:
// waking two of them costs more than all else. Only while the store answers: a
// driver bounds what it does on a connection that it has, but perhaps not the
// making of one.
func (c *core) unlockAndPerform(blocking bool, r *machine.Request, now clock.Instant) {
	n := len(c.outbox)
	if !blocking || r == nil || n == 0 || c.outbox[n-1].Request != r || c.process.NetFailed || now.Sub(c.process.LastAnswer) > time.Second {
		c.unlock()
		return
	}
	s := c.outbox[n-1]
	c.outbox = c.outbox[:n-1]
	c.inflight++
	wait := c.delay(r)
	c.unlock()
	if !wait {
		c.perform(s)
	}
}

// unlockAndSend releases the mutex, sends what is to be sent, and returns what is to
// be run.
func (c *core) unlockAndSend() (after []func()) {
	c.sendDelayed(delayFrom)
	c.inflight += len(c.outbox)
	for i, s := range c.outbox { // handing them out is no I/O, and the slice serves again
		c.outbox[i] = sending{}
		if c.delay(s.Request) {
			continue
		}
		select {
		case c.work <- s:
		default:
			go c.worker(s)
		}
	}
	c.outbox = c.outbox[:0]
	after, c.afterUnlock = c.afterUnlock, nil
	c.sendRenewals()
	c.mu.Unlock()
	return after
}

// sendRenewals sends as many of the renewals as may be under way. Their lives
// begin now.
func (c *core) sendRenewals() {
	for c.pipelines < pipelines && len(c.renewals) > 0 && !c.process.Closed {
		n := min(c.batch(), len(c.renewals))
		now := c.clock.Now()
		batch := slices.DeleteFunc(c.renewals[:n:n], func(r *machine.Request) bool { return !r.MarkSent(now) })
		c.renewals = c.renewals[n:]
		if len(batch) == 0 {
			continue
		}
		c.pipelines++
		c.inflight += len(batch)
		go c.performAll(batch, &c.pipelines)
	}
	if len(c.renewals) == 0 {
		c.renewals = nil
	}
}

// keysOf makes the keys of a name.
func keysOf(prefix, name string) (*keyspace.Keys, error) {
	k, err := keyspace.KeysOf(prefix, name)
	if err != nil {
		return nil, &NameError{name, err.Error()}
	}
	return k, nil
}

// shardOf is the shard suffix of a name, empty where channels are not sharded.
func (c *core) shardOf(k *keyspace.Keys) string {
	if !c.store.Sharded() {
		return ""
	}
	return k.ShardSuffix()
}

// run is the loop: the one goroutine that acts on time. Timers fire with the
// mutex held and never block; what they start (requests, cancellations) begins
// when the mutex is released, outside this loop.
func (c *core) run() {
	defer c.process.Schedule.Close()
	for {
		select {
		case <-c.process.Schedule.C():
		case <-c.stopped:
			return
		}
		c.mu.Lock()
		now := c.clock.Exact()
		for range 512 { // others want the mutex too
			t := c.process.Schedule.Due(now)
			if t == nil {
				break
			}
			t.Fire(now)
		}
		c.process.Schedule.Rest(now)
		if after := c.unlockAndSend(); len(after) > 0 {
			go func() { // contexts end here, which may take long
				for _, f := range after {
					f()
				}
			}()
		}
	}
}

func (c *core) emit(e Event) {
	if c.events == nil {
		return
	}
	if c.droppedEvents > 0 {
		select {
		case c.events <- Dropped{c.droppedEvents}:
			c.droppedEvents = 0
		default:
			c.droppedEvents++
			return
		}
	}
	select {
	case c.events <- e:
	default:
		c.droppedEvents++
	}
}

func deliverEvents(f func(Event), events <-chan Event, stopped <-chan struct{}) {
	for {
		select {
		case e := <-events:
			f(e)
		case <-stopped:
			for { // what was noted before the end is still delivered
				select {
				case e := <-events:
					f(e)
				default:
					return
				}
			}
		}
	}
}
