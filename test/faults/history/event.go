// Package history has the events of a history. Each process writes down its own, with
// times of one clock.
package history

// Event is one thing that happened: a line of JSON in a file. Which fields count
// beside T, Process and What depends on What.
type Event struct {
	T       int64  `json:"t"` // when, in ns of Now
	Process string `json:"p"`
	What    What   `json:"what"`

	// Attempt is one wish for one name, unique in the history; the names of a
	// Multi are wished for in an attempt each.
	Attempt  int64  `json:"a,omitempty"`
	Client   int64  `json:"c,omitempty"` // of the process, that asks; 0 where it has one
	Kind     Kind   `json:"kind,omitempty"`
	Mode     Mode   `json:"mode,omitempty"`
	Name     string `json:"name,omitempty"`
	Weight   int64  `json:"w,omitempty"`   // of the part that is wished for
	Capacity int64  `json:"cap,omitempty"` // of all parts together

	Token    int64 `json:"tok,omitempty"`
	Deadline int64 `json:"end,omitempty"` // of the lease, in ns of Now; the true one is not before it

	// Of the resource: a version of a register is how many writes it took. Base
	// is the version that the writer had read. A write with Base + 1 less than Version
	// has overwritten what it did not know.
	Version int64 `json:"v,omitempty"`  // fenced
	Base    int64 `json:"b,omitempty"`  // fenced
	Free    int64 `json:"uv,omitempty"` // version of the register without a fence
	FreeOf  int64 `json:"ub,omitempty"` // its base

	Class  Class  `json:"class,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// What is a kind of event.
type What string

// What a client does and sees. T of those marked * is read before the call that
// follows, of the others after the call that they end.
const (
	Ask      What = "ask"      // * wants the name
	Granted  What = "granted"  // has the lease; Token, Deadline
	Failed   What = "failed"   // has it not; Class
	Renewed  What = "renewed"  // saw that Deadline has moved
	Over     What = "over"     // the lease's context ended; Class is why
	Release  What = "release"  // * gives it back
	Released What = "released" // Class: what was said
	Read     What = "read"     // read the registers; Class refused: the fence is higher
	Write    What = "write"    // wrote them; Version; Class refused: the fence is higher
	Start    What = "start"    // the process is ready
	Stop     What = "stop"     // * it has closed its Client and ends
	Step     What = "step"     // * it stops or kills itself here; Detail
	Stall    What = "stall"    // it did not run for the Version ns before T
	Trouble  What = "trouble"  // what nobody expected; Detail
)

// What others write down.
const (
	Accept     What = "accept"      // resource: a write; Version and Base, Free and FreeOf
	Refuse     What = "refuse"      // resource: a write below the fence, which is Version; Free and FreeOf all the same
	Advance    What = "advance"     // resource: a read; Version and Free as it gave them
	Bar        What = "bar"         // resource: a read below the fence
	FaultBegin What = "fault-begin" // * controller; Detail: which, Process: whom
	FaultEnd   What = "fault-end"   // controller: healed
	Crash      What = "crash"       // controller: the process is gone; T is after its end
	Freeze     What = "freeze"      // controller: the process does not run any more
	Thaw       What = "thaw"        // * controller: it may run again
	Healed     What = "healed"      // controller: no fault from here on
	Monitor    What = "monitor"     // what a server ran; T by the server's clock, Detail: the command
	Gap        What = "gap"         // monitor: it did not see what happened between Deadline and T
	Left       What = "left"        // controller, at the end: a key; Name: the key, Deadline: when it ends, 0 never; Detail: the ids in it
)

// Kind is what kind of lock an attempt is for.
type Kind string

// The kinds.
const (
	Mutex     Kind = "mutex"
	Semaphore Kind = "semaphore"
	RWMutex   Kind = "rwmutex"
	Election  Kind = "election"
	Multi     Kind = "multi"
	Quorum    Kind = "quorum" // a mutex on a quorum
)

// Mode says whether others may hold at the same time.
type Mode string

// The modes.
const (
	Exclusive Mode = "exclusive"
	Shared    Mode = "shared"
)

// Fenced reports whether holders of the mode may write the registers: their tokens
// rise in the order of holding.
func (m Mode) Fenced() bool { return m == Exclusive }

// Class is what an operation came to, one of a closed list.
type Class string

// The classes.
const (
	OK          Class = "ok"
	Refused     Class = "refused"     // by the resource
	Held        Class = "held"        // ErrHeld
	Cancelled   Class = "cancelled"   // the caller's own context
	Unreachable Class = "unreachable" // ErrUnreachable
	Unknown     Class = "unknown"     // ErrUnknown
	TooSlow     Class = "too slow"    // ErrTooSlow
	Replicas    Class = "replicas"    // ErrReplicas
	NoQuorum    Class = "no quorum"   // ErrQuorum
	KindClash   Class = "other kind"  // ErrKind
	Closed      Class = "closed"      // ErrClosed
	Expired     Class = "expired"     // ErrLost, by its cause
	Taken       Class = "taken"
	Gone        Class = "gone"
	Other       Class = "other" // none of these: Detail has its words
)
