package holdfast

import (
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/details"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/machine"
	"github.com/holdfast-go/holdfast/internal/once"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Client locks names in one Redis deployment. It is safe for concurrent use. Make one
// for each process: callers of one Client that wait for the same name share one place
// in Redis.
type Client struct {
	// The engine does not refer to the Client. So the garbage collector notices a
	// Client that is dropped without Close.
	engine  *engine.Engine
	store   driver.Store // nil on a quorum
	events  *eventQueue  // nil without OnEvent
	scripts evalScripts
	pace    once.Pace // of OnceEvery
	front   any       // the QuorumClient of a quorum, which lives as long as the Client; else nil
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
	return newClient(options.withDefaults(), store, func(s engine.Settings) *engine.Engine { return engine.New(s, store) })
}

// newClient returns a Client with the engine that start makes.
func newClient(v Options, store driver.Store, start func(engine.Settings) *engine.Engine) *Client {
	s := engine.Settings{
		Settings: machine.Settings{
			Prefix: v.Prefix, TTL: v.TTL, Owner: v.Owner, Linger: v.Linger, WaitReplicas: v.WaitReplicas, RepairOrphans: v.RepairOrphans,
			TokenMemory: v.TokenMemory,
		},
		Details: (*details.Process)(v.Details), Logger: v.Logger,
	}
	c := &Client{store: store}
	if v.OnEvent != nil {
		c.events = newEventQueue()
		s.Note = c.events.note
	}
	c.engine = start(s)
	if c.events != nil {
		go c.events.deliver(v.OnEvent, c.engine.Stopped)
	}
	if !clock.InBubble() { // a cleanup runs outside the bubble and must not use its channels
		runtime.AddCleanup(c, dropped, c.engine)
	}
	return c
}

// dropped runs when a Client has been garbage-collected.
func dropped(e *engine.Engine) {
	if !e.Closed() {
		e.Logger.Warn("holdfast: a Client was dropped without Close; closing it now", slog.String("owner", e.Owner))
		go e.Close() // Close logs its error: no caller is left to get it
	}
}

// Owner returns the label of this Client's leases: see [Options.Owner].
func (c *Client) Owner() string { return c.engine.Owner }

// ID returns the hash that identifies this Client among the holders and waiters of
// package admin.
func (c *Client) ID() string { return keyspace.HashClient(c.engine.ClientID) }

// Prefix returns the prefix of the keys of all names, see [Options.Prefix].
func (c *Client) Prefix() string { return c.engine.Prefix }

// TTL returns [Options.TTL].
func (c *Client) TTL() time.Duration { return c.engine.TTL }

// Store returns the store that [New] got.
func (c *Client) Store() driver.Store { return c.store }

// Close ends the Client. Leases end with cause [Closed] and are released, and waiting
// calls return [ErrClosed]. Close blocks for at most about two seconds for the cleanup
// in Redis. It then waits for at most one second until OnEvent has all events. The
// store stays open.
//
// Close returns [ErrUnknown] if Redis did not confirm the cleanup in time. The
// remaining keys expire after their TTL. A second Close waits for the first and returns
// the same error.
//
// Later calls return ErrClosed and do not contact Redis. A call that has begun before
// returns the answer of Redis. If Redis did not answer, it returns ErrClosed, although
// Redis may have executed it. Methods of a [Lease] return an error that matches both
// [ErrLost] and ErrClosed. [Client.LocalState] still works.
//
// If a program exits without Close, its names stay held until their TTL ends. Its
// places in queues stay too. They do not delay other waiters after the connection of
// the program is closed.
func (c *Client) Close() error {
	first := c.events != nil && !c.events.awaited.Swap(true) // set before leases end: OnEvent may call Close then
	err := c.engine.Close()
	if first {
		c.events.await()
	}
	return err
}

// openKeys returns the keys of a name. It returns an error if the Client is closed or
// the name cannot be a key.
func (c *Client) openKeys(name string) (*keyspace.Keys, error) {
	k, err := c.engine.OpenKeys(name)
	return k, publicError(err)
}

// lacks returns an error on a quorum, which does not support what; else nil.
func (c *Client) lacks(name, what string) error {
	if c.engine.Queue {
		return nil
	}
	return wire.Failure(name, nil, fmt.Errorf("%s does not work on a quorum, only on one master, behind Sentinel or in a Cluster", what))
}

// LocalState counts the leases and waiting calls of one Client for one name.
type LocalState struct {
	Name    string
	Held    int // leases; callers that share a lease (see Mutex.Reentrant) count once
	Waiting int // calls without an answer yet, also of TryLock
}

// LocalState lists the names that callers of this Client hold or wait for, each once,
// in no order. It does not contact Redis. A name that only lingers is not in the list.
func (c *Client) LocalState() []LocalState {
	all := []LocalState{}
	at := map[string]int{} // candidates and shared kinds have several local names for one name
	c.engine.Each(func(name string, held, waiting int) {
		i, known := at[name]
		if !known {
			i = len(all)
			at[name] = i
			all = append(all, LocalState{Name: name})
		}
		all[i].Held += held
		all[i].Waiting += waiting
	})
	return all
}
