// Package engine does what package machine decides. It has the goroutines, the contexts and the
// channels of a Client, its timer, and its calls to the driver.
//
// An [Engine] has one mutex, and calls the machine under it. The mutex is never held
// across I/O, and never while code of the user runs: what has to happen outside is noted in outbox,
// batchers, renewals and afterUnlock, and begins when unlock releases the mutex. A call goes straight
// down, from an exported method here to an input of the machine, and from there through the Host
// to the driver. The answer goes the same way back, and the method returns it. Its errors are
// those of packages machine and wire: package holdfast makes the public ones.
//
// engine.go has the mutex and the loop, host.go does what the machine wants done, and send.go has
// how requests travel, alone or in a batch. servers.go is where one master and a quorum differ. These
// are one thing. Above them are the calls: acquire.go of a lock, hold.go of a lease, observe.go and
// close.go.
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

// Settings are what an Engine is made with. It sets Events, Queue, Sharded, SendsOnce and Wall itself.
type Settings struct {
	machine.Settings
	Details *details.Process // nil: none are written
	Logger  *slog.Logger
	Note    func(e machine.Event, at time.Time) // for Options.OnEvent; nil: no events. The mutex is held: it must not block
}

// ShardOf returns the shard suffix of a name, empty where channels are not sharded.
func (s *Settings) ShardOf(k *keyspace.Keys) string {
	if !s.Sharded {
		return ""
	}
	return k.ShardSuffix()
}

// Engine does for one Client what its process decides. The exported fields do not change. The mutex
// guards the process, and the fields below it. send.go, acquire.go, hold.go, observe.go and close.go
// have methods, too.
type Engine struct {
	Settings
	ClientID    string          // the first part of each id
	Calls       *call.Caller    // runs scripts for callers that wait for them
	RecordCalls *call.Caller    // the same, and goes on after Close
	Stopped     <-chan struct{} // closed when Close has done all

	process      *machine.Process
	store        driver.Store   // nil on a quorum
	servers      servers        // one master, or the nodes of a quorum
	replicaCalls *call.Replicas // runs renewals that replicas must acknowledge
	clock        *clock.Clock
	details      *details.Note   // nil without Settings.Details
	ctx          context.Context // ends with the engine
	cancel       context.CancelFunc
	waiters      waiters
	work         chan sending // to workers that are idle
	idle         atomic.Int32 // how many those are

	turnstile      sync.Mutex // in front of mu, for the subscriptions
	mu             sync.Mutex
	closeDone      chan struct{}                   // made by Close, and closed when all of it is done
	closeErr       error                           // what it returns
	observerGroups map[string]*observerGroup       // of elections that are observed here, by lock key
	keepers        map[*machine.Subscriber]*keeper // of subscriptions that are open
	waits          map[any]chan struct{}           // closed when the process is done with the key
	asked          map[any]chan<- machine.Outcome  // gets how a request or a release went
	watched        map[*machine.Turn]*watch        // turns for whose end somebody waits
	inflight       int                             // requests that have not come back
	detailsWritten bool                            // Details were written less than details.Every ago

	bounds      call.Bounds
	outbox      []sending          // to send
	batchers    []*batcher         // of those, what waits to travel together to the master, or to each node of a quorum
	renewals    []*machine.Request // to send in pipelines, in this order
	pipelines   int                // under way
	afterUnlock []func()           // to run
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

// newEngine makes an engine that talks to nobody yet. carrier may lend a clock and
// chance. The server keeps a queue, or not.
func newEngine(s Settings, carrier driver.Store, queue bool) *Engine {
	var lent clock.Seam
	if carrier, ok := carrier.(clock.Carrier); ok {
		lent = carrier.Seam()
	}
	if lent.Random == nil {
		lent.Random = rand.Uint64 // seeded by the system, ChaCha8: not to be guessed
	}
	s.Events, s.Queue, s.Sharded = s.Note != nil, queue, carrier != nil && carrier.Sharded()
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
	}
	e.process = machine.New(s.Settings, host{e}, lent.Random)
	e.ClientID = e.process.ClientID
	e.servers = master{e}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.Stopped = e.ctx.Done()
	e.batchers = []*batcher{e.newBatcher()}
	return e
}

// start sets an engine going.
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
	return e.process.Closed
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
	return e.process.Random()
}

// Each calls visit for each local name that has a turn or waiters: see [machine.Process.Each].
func (e *Engine) Each(visit func(name string, held, waiting int)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.process.Each(visit)
}

// unlock releases the mutex and begins what was noted under it.
func (e *Engine) unlock() {
	for _, f := range e.unlockAndSend() {
		f()
	}
}

// unlockAndPerform is unlock. If the call blocks and the request is new, it also sends the
// request from this very goroutine, which would only wait for the answer of another:
// waking two of them costs more than all else. Only while the store answers: a
// driver bounds what it does on a connection that it has, but perhaps not the
// making of one.
func (e *Engine) unlockAndPerform(blocking bool, r *machine.Request, now clock.Instant) {
	n := len(e.outbox)
	if !blocking || r == nil || n == 0 || e.outbox[n-1].Request != r || e.process.NetFailed || now.Sub(e.process.LastAnswer) > time.Second {
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

// unlockAndSend releases the mutex, sends what is to be sent, and returns what is to
// be run.
func (e *Engine) unlockAndSend() (after []func()) {
	e.sendDelayed(delayFrom)
	e.inflight += len(e.outbox)
	for i, s := range e.outbox { // handing them out is no I/O, and the slice serves again
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
	e.sendRenewals()
	e.mu.Unlock()
	return after
}

// run is the loop: the one goroutine that acts on time. Timers fire with the
// mutex held and never block; what they start (requests, cancellations) begins
// when the mutex is released, outside this loop.
func (e *Engine) run() {
	defer e.process.Schedule.Close()
	for {
		select {
		case <-e.process.Schedule.C():
		case <-e.Stopped:
			return
		}
		e.mu.Lock()
		now := e.clock.Exact()
		for range 512 { // others want the mutex too
			t := e.process.Schedule.Due(now)
			if t == nil {
				break
			}
			t.Fire(now)
		}
		e.process.Schedule.Rest(now)
		if after := e.unlockAndSend(); len(after) > 0 {
			go func() { // contexts end here, which may take long
				for _, f := range after {
					f()
				}
			}()
		}
	}
}

// longestRemoval is how long a call whose context has ended waits, in all, until Redis
// knows no more of it. Most programs that end with it leave nothing behind then.
const longestRemoval = 20 * time.Millisecond
