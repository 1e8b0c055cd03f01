package holdfast

import "time"

// Event is something that happened to a lock of this process, told to
// Options.OnEvent. Its kinds are the struct types below; switch on the type.
type Event interface{ event() }

// Queued tells: the process waits in line for a name, or looked again.
type Queued struct {
	Name      string
	Position  int           // 0 is the head
	Holder    string        // the holder's label; empty when foreign
	Remaining time.Duration // of the holder in Redis; negative: no expiry
	Joined    bool          // it has just joined the queue; never on a quorum, which has none
}

// Granted tells: a caller got its lease.
type Granted struct {
	Name   string
	Token  int64
	Waited time.Duration // since it called Lock
	Kind   Kind
	At     time.Time // before the caller had it, with a monotonic reading
	Source Source    // how it came to know
}

// Source is how a caller came to know that it has a name.
type Source string

// The sources of grants. A waiter that is served by Polled again and again hears no
// pushes, or waits for clients that send none, and comes later than it could.
const (
	Answered Source = "answer" // the first answer said so: no other process had it
	Pushed   Source = "push"   // who had it before handed it over
	Polled   Source = "poll"   // it waited, and found it by looking again
	InTurn   Source = "turn"   // another caller here had it before, see Client
)

// source is how the newest turn's caller came to know.
func (l *line) source(w *caller) Source {
	switch {
	case l.tenure.turns > 1:
		return InTurn
	case l.tenure.pushed:
		return Pushed
	case l.seen.known && l.seen.at >= w.since:
		return Polled
	}
	return Answered
}

// Released tells: a caller gave its lease back.
type Released struct {
	Name  string
	Token int64
	Held  time.Duration
	Kind  Kind
	At    time.Time // before Redis was told, with a monotonic reading
}

// Lost tells: a lease ended before its release.
type Lost struct {
	Name   string
	Token  int64
	Cause  Cause
	Reason string // what was given to Revoke or Steal
	Held   time.Duration
	Kind   Kind
	At     time.Time // when it ended: its deadline, if it was noticed after that; with a monotonic reading
}

// Renewed tells: Redis answered a renewal.
type Renewed struct {
	Name      string
	Remaining time.Duration // until the new deadline
	Replicas  int           // that acknowledged it; 0 without WaitReplicas
	Slack     float64       // share of the life before that was left; usually 0.6 or more, 0 would have been too late
}

// RenewFailed tells: a renewal was not answered or refused, or acknowledged by
// too few replicas, which Err says, and will be tried again while Remaining lasts.
type RenewFailed struct {
	Name      string
	Err       error
	Remaining time.Duration
	Slack     float64 // share of the life that is left
}

// Recalled tells: another process waits for a name that is held here.
type Recalled struct{ Name string }

// SubscriptionConfirmed tells: Redis confirmed the subscription over which this Client
// gets its pushes.
type SubscriptionConfirmed struct{}

// SubscriptionBroken tells: that subscription broke. The Client polls until it is
// confirmed again.
type SubscriptionBroken struct {
	Err error // why, if known
}

// SizeMismatch tells: a semaphore has another size than this program asked for, and the size
// in Redis counts. A Client reports it once for each size that a name turns out to have; see Semaphore.
type SizeMismatch struct {
	Name   string
	Asked  int
	Actual int
}

// Repaired tells: a key without expiry was given one.
type Repaired struct{ Name string }

// Dropped tells: OnEvent was too slow and missed this many events.
type Dropped struct{ N int }

func (Queued) event()                {}
func (Granted) event()               {}
func (Released) event()              {}
func (Lost) event()                  {}
func (Renewed) event()               {}
func (RenewFailed) event()           {}
func (Recalled) event()              {}
func (SubscriptionConfirmed) event() {}
func (SubscriptionBroken) event()    {}
func (SizeMismatch) event()          {}
func (Repaired) event()              {}
func (Dropped) event()               {}
