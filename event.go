package holdfast

import "time"

// Event is something that happened to a lock of this process. [Options.OnEvent]
// receives it. Its types are [Granted], [Released], [Lost], [LeaseExported],
// [ExportReleased], [Queued], [Recalled], [Renewed], [RenewFailed], [Repaired],
// [SizeMismatch], [SubscriptionConfirmed], [SubscriptionBroken] and [Dropped]. Switch on
// the type, and ignore others.
type Event interface{ event() }

// Queued is the event that this process joined the queue of a name or polled it again.
type Queued struct {
	Name      string
	Position  int           // 0 is the head
	Holder    string        // label of the holder; empty if foreign
	Remaining time.Duration // of the holder in Redis; negative if it has no expiry
	Joined    bool          // it has just joined the queue; never true on a quorum, which has none
}

// Granted is the event that a caller got a lease.
type Granted struct {
	Name   string
	Owner  string // label of the lease: [Options.Owner], or that of the lock, such as [Mutex].Owner
	Token  int64
	Waited time.Duration // since the call of Lock
	Kind   Kind
	At     time.Time // before the caller got the lease, with a monotonic reading
	Source Source    // how the caller learned of the grant
}

// Source is how a caller learned of its grant. If [SourcePoll] is frequent for a
// waiter, it gets no pushes, or waits for clients that send none.
type Source string

// The sources of grants.
const (
	SourceAnswer Source = "answer" // the first answer: the name was free
	SourcePush   Source = "push"   // the previous holder handed the name over
	SourcePoll   Source = "poll"   // the waiter found the grant by polling
	SourceTurn   Source = "turn"   // from another caller of this Client
)

// Released is the event that a caller released a lease.
type Released struct {
	Name  string
	Owner string // as of Granted
	Token int64
	Held  time.Duration
	Kind  Kind
	At    time.Time // before the request to Redis, with a monotonic reading
}

// Lost is the event that a lease ended before its release. An export is no loss: see
// [LeaseExported].
type Lost struct {
	Name   string
	Owner  string // as of Granted
	Token  int64
	Cause  Cause
	Reason string // of a Revoke or Steal
	Held   time.Duration
	Kind   Kind
	At     time.Time // when the lease ended, or its deadline if the client noticed the loss later; with a monotonic reading
}

// LeaseExported is the event that [Lease.Export] ended a lease. The name stays held.
type LeaseExported struct {
	Name  string
	Owner string // as of Granted
	Token int64
	Held  time.Duration // until the export
	Kind  Kind
	At    time.Time // with a monotonic reading
}

// ExportReleased is the event that [Client.ReleaseExported] of this Client released an
// exported hold.
type ExportReleased struct {
	Name  string
	Owner string // label of the exporter
	Token int64  // of the exported lease
	Kind  Kind
	At    time.Time // before the request to Redis, with a monotonic reading
}

// Renewed is the event that Redis answered a renewal.
type Renewed struct {
	Name      string
	Remaining time.Duration // until the new deadline
	Replicas  int           // that acknowledged the renewal; 0 without WaitReplicas
	Slack     float64       // share of the ttl that remained before the renewal; usually 0.6 or more, 0 is too late
}

// RenewFailed is the event that a renewal failed. Redis did not answer or refused, or
// too few replicas acknowledged; Err has the reason. The client retries while Remaining
// lasts.
type RenewFailed struct {
	Name      string
	Err       error
	Remaining time.Duration
	Slack     float64 // share of the ttl that remains
}

// Recalled is the event that another process waits for a name that this process holds.
type Recalled struct{ Name string }

// SubscriptionConfirmed is the event that Redis confirmed the subscription of this
// Client, over which it gets pushes.
type SubscriptionConfirmed struct{}

// SubscriptionBroken is the event that this subscription broke. The Client polls until
// it is confirmed again.
type SubscriptionBroken struct {
	Err error // the reason, if known
}

// SizeMismatch is the event that a semaphore has another size than this program asked
// for. The actual size counts. A Client sends it once for each actual size of a name.
// See [Semaphore].
type SizeMismatch struct {
	Name   string
	Asked  int
	Actual int
}

// Repaired is the event that the client gave an expiry to a key without one. See
// [Options.RepairOrphans].
type Repaired struct{ Name string }

// Dropped is the event that OnEvent was too slow and missed N events.
type Dropped struct{ N int }

func (Queued) event()                {}
func (Granted) event()               {}
func (Released) event()              {}
func (Lost) event()                  {}
func (LeaseExported) event()         {}
func (ExportReleased) event()        {}
func (Renewed) event()               {}
func (RenewFailed) event()           {}
func (Recalled) event()              {}
func (SubscriptionConfirmed) event() {}
func (SubscriptionBroken) event()    {}
func (SizeMismatch) event()          {}
func (Repaired) event()              {}
func (Dropped) event()               {}
