// Package engine does what package machine decides. It has the goroutines, the contexts and the
// channels of a Client, its timer, and its calls to the driver.
//
// An [Engine] has one mutex and calls the machine while it holds the mutex. It never holds the mutex
// during I/O or while code of the user runs. Work for later is stored in outbox, batchers, renewals
// and afterUnlock, and starts when unlock releases the mutex. A call goes from an exported method
// here to an input of the machine, and from there through the Host to the driver. The answer comes
// back the same way. The errors are those of packages machine and wire; package holdfast converts
// them to the public ones.
//
// engine.go has the mutex and the loop, host.go does what the machine asks of its Host, and send.go
// sends requests to one master, alone or in a batch. On a quorum quorum.go sends them. These files form one unit. The calls are built on it: acquire.go has those for a lock,
// hold.go those for a lease, observe.go those of an election, and close.go has Close.
package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/details"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Settings are the settings of an Engine. New and NewQuorum set Events, Queue, Sharded, SendsOnce
// and Wall.
type Settings struct {
	machine.Settings
	Details *details.Process // nil: no process details are written
	Logger  *slog.Logger
	Note    func(e machine.Event, at time.Time) // for Options.OnEvent; nil: no events. It is called under the mutex and must not block
}

// ShardOf returns the shard suffix of a name, empty where channels are not sharded.
func (s *Settings) ShardOf(k *keyspace.Keys) string {
	if !s.Sharded {
		return ""
	}
	return k.ShardSuffix()
}

// Engine carries out the decisions of one machine.Client. The exported fields do
// not change after New. mu protects the Client and the fields below mu.
type Engine struct {
	Settings
	ClientID    string          // the first part of each id
	Calls       *call.Caller    // runs scripts for callers that wait for them
	RecordCalls *call.Caller    // like Calls, and also works after Close
	Stopped     <-chan struct{} // closed at the end of Close

	client       *machine.Client
	store        driver.Store   // nil on a quorum
	servers      servers        // one master, or the nodes of a quorum
	replicaCalls *call.Replicas // runs renewals that replicas must acknowledge
	clock        *clock.Clock
	details      *details.Note   // nil without Settings.Details
	ctx          context.Context // ends with the engine
	cancel       context.CancelFunc
	waiters      sync.Pool    // of *pending
	work         chan sending // to idle workers
	idle         atomic.Int32 // number of idle workers

	turnstile      sync.Mutex // held by the one subscription that waits for mu, see keeper.lock
	mu             sync.Mutex
	closeDone      chan struct{}                   // made by Close, and closed when closeErr is set
	closeErr       error                           // result of Close
	observerGroups map[string]*observerGroup       // by lock key of the election
	keepers        map[*machine.Subscriber]*keeper // one for each open subscription
	waits          map[any]chan struct{}           // closed by Host.Done for the key
	asked          map[any]chan<- machine.Outcome  // by *machine.Request or *machine.Turn: gets the result, see Host.Answer
	watched        map[*machine.Turn]*watch        // turns with callers that wait for their end
	inflight       int                             // requests sent and not answered yet
	detailsWritten bool                            // Details were written less than details.Every ago

	bounds      bounds
	outbox      []sending          // requests to send
	batchers    []*batcher         // requests that wait to be sent together: one for the master, or one for each node of a quorum
	delayed     int                // requests in the batchers
	renewals    []*machine.Request // renewals to send in pipelines, in this order
	pipelines   int                // pipelines of renewals under way
	afterUnlock []func()           // functions to run after unlock
}

// New returns an Engine for names on one master, or in a Cluster. It does not connect.
func New(s Settings, store driver.Store) *Engine {
	e := newEngine(s, store, true)
	e.store = store
	e.start()
	return e
}

// NewQuorum returns an Engine for names on a majority of masters.
func NewQuorum(s Settings, id string, stores []driver.Store) *Engine {
	e := newEngine(s, stores[0], false)
	newQuorum(e, id, stores)
	e.start()
	return e
}

// newEngine makes an engine and starts nothing. If carrier is a clock.Carrier, it supplies the
// clock and the random numbers. queue reports whether the server keeps a queue.
func newEngine(s Settings, carrier driver.Store, queue bool) *Engine {
	var lent clock.Seam
	if carrier, ok := carrier.(clock.Carrier); ok {
		lent = carrier.Seam()
	}
	if lent.Random == nil {
		lent.Random = rand.Uint64 // ChaCha8, seeded by the system: the ids cannot be guessed
	}
	s.Events, s.Queue, s.Sharded = s.Note != nil, queue, carrier != nil && carrier.Sharded()
	s.ShowsDetails = s.Details != nil
	s.SendsOnce = func() bool { s, ok := carrier.(driver.SendsOnce); return ok && s.SendsOnce() }
	s.Wall = func() int64 { return time.Now().UnixMicro() }
	e := &Engine{
		Settings: s,
		clock:    clock.New(lent.Now),
		work:     make(chan sending),
		keepers:  make(map[*machine.Subscriber]*keeper),
		waits:    make(map[any]chan struct{}),
		asked:    make(map[any]chan<- machine.Outcome),
		watched:  make(map[*machine.Turn]*watch),
		waiters:  sync.Pool{New: newPending},
	}
	e.client = machine.New(s.Settings, host{e}, lent.Random)
	e.ClientID = e.client.ClientID
	e.servers = master{e}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.Stopped = e.ctx.Done()
	e.batchers = []*batcher{e.newBatcher()}
	return e
}

// start makes the callers and starts the loop.
func (e *Engine) start() {
	e.Calls = &call.Caller{Store: e.store, Life: e.ctx, Clock: e.clock, Attempt: e.Attempt(), Closed: e.closed}
	e.RecordCalls = &call.Caller{Store: e.store, Life: e.ctx, Clock: e.clock, Attempt: e.Patience()}
	e.replicaCalls = &call.Replicas{Store: e.store, Clock: e.clock, Want: e.WaitReplicas}
	if e.Details != nil {
		e.details = details.NewNote(*e.Details, e.ClientID, e.TTL, e.Calls, func(err error) {
			e.mu.Lock()
			defer e.unlock()
			host{e}.Warn("holdfast: could not write Options.Details; locks work without them", "error", err)
		})
	}
	go e.run()
}

// Closed reports whether Close was called.
func (e *Engine) Closed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.client.Closed
}

// closed returns wire.ErrClosed after Close was called.
func (e *Engine) closed() error {
	if e.Closed() {
		return wire.ErrClosed
	}
	return nil
}

// OpenKeys returns the keys of a name, or wire.ErrClosed after Close, or a *machine.BadName.
func (e *Engine) OpenKeys(name string) (*keyspace.Keys, error) {
	if err := e.closed(); err != nil {
		return nil, err
	}
	return e.keysOf(name)
}

func (e *Engine) keysOf(name string) (*keyspace.Keys, error) {
	k, err := keyspace.KeysOf(e.Prefix, name)
	if err != nil {
		return nil, &machine.BadName{Name: name, Reason: err.Error()}
	}
	return k, nil
}

// Random returns 64 random bits.
func (e *Engine) Random() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.client.Random()
}

// Each calls visit for each local name that has a turn or waiters: see [machine.Client.Each].
func (e *Engine) Each(visit func(name string, held, waiting int)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.client.Each(visit)
}

// unlock releases the mutex and starts the work that was stored under it.
func (e *Engine) unlock() {
	for _, f := range e.sendAndUnlock() {
		f()
	}
}

// unlockAndPerform releases the mutex like unlock. If the ctx of the call cannot end and r is the
// newest request in outbox, it sends r in this goroutine, which would otherwise only wait for another one.
// Waking two goroutines costs more than all other work of a call. It sends r here only if the
// store has answered within the last second: a driver may connect without a time limit.
func (e *Engine) unlockAndPerform(noCancel bool, r *machine.Request, now clock.Instant) {
	n := len(e.outbox)
	if !noCancel || r == nil || n == 0 || e.outbox[n-1].Request != r || e.client.NetFailed || now.Sub(e.client.LastAnswer) > time.Second {
		e.unlock()
		return
	}
	s := e.outbox[n-1]
	e.outbox = e.outbox[:n-1]
	e.inflight++
	wait := e.delay(r)
	e.unlock()
	if !wait {
		e.perform(s)
	}
}

// sendAndUnlock starts to send the stored requests, releases the mutex, and returns the functions
// of afterUnlock. The caller runs them.
func (e *Engine) sendAndUnlock() (after []func()) {
	if e.delayed > 0 {
		e.sendDelayed(delayFrom)
	}
	e.inflight += len(e.outbox)
	for i, s := range e.outbox { // handing them to workers does no I/O; the slice is reused
		e.outbox[i] = sending{}
		if e.delay(s.Request) {
			continue
		}
		select {
		case e.work <- s:
		default:
			go e.worker(s)
		}
	}
	e.outbox = e.outbox[:0]
	after, e.afterUnlock = e.afterUnlock, nil
	if len(e.renewals) > 0 {
		e.sendRenewals()
	}
	e.mu.Unlock()
	return after
}

// run is the loop, the only goroutine that fires timers. Timers fire under the mutex and never
// block. The requests and cancellations that they cause start when the mutex is released, in
// other goroutines.
func (e *Engine) run() {
	defer e.client.Schedule.Close()
	for {
		select {
		case <-e.client.Schedule.C():
		case <-e.Stopped:
			return
		}
		e.mu.Lock()
		now := e.clock.Exact()
		for range 512 { // other goroutines need the mutex, too
			t := e.client.Schedule.Due(now)
			if t == nil {
				break
			}
			t.Fire(now)
		}
		e.client.Schedule.Rest(now)
		if after := e.sendAndUnlock(); len(after) > 0 {
			go func() { // they end contexts, which can take long
				for _, f := range after {
					f()
				}
			}()
		}
	}
}

// leftoverPatience is how long a call waits at most, after its context has ended, until Redis has
// removed what it left. So most programs that exit after such a call leave nothing in Redis.
const leftoverPatience = 20 * time.Millisecond
