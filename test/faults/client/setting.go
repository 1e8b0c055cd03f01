//go:build linux

// Package client is the workload of a history: a process that locks names by holdfast and
// writes down what it saw. While it believes that it holds them, it does something harmless
// to the resource. It can stop or kill itself at an exact step.
package client

import (
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Setting is what a client is, for the whole of its life.
type Setting struct {
	URLs     []string // of the deployment; on a quorum one for each node
	Netns    string   // path of the network namespace that it is started in; empty: that of its parent
	Quorum   string   // quorum-id; empty: no quorum
	Driver   string   // rueidis or goredis
	Peer     Peer     // another lock; empty: holdfast
	Process  string   // its name in the history, and its owner label
	Number   int64    // unique in the history: its attempts begin at Number * Attempts
	TTL      time.Duration
	Linger   time.Duration
	Replicas int    // Options.WaitReplicas
	Prefix   string // Options.Prefix
	History  string // file that events are appended to
	Resource string // socket
	Names    []Target
	Clients  int // of holdfast in this process; 0: one
	Callers  int // of all Clients together
	Mix      Mix
	Hoard    []Target // that nobody else wants, each with one caller more, who holds it for long
	Seed     uint64
}

// Attempts is how many attempts a process may make.
const Attempts = 1_000_000_000

// Target is a name, or the names of a Multi, and as what it is locked: always as
// the same.
type Target struct {
	Kind     history.Kind
	Names    []string // one, but of a Multi
	Capacity int64    // of a semaphore
	Writes   bool     // an RWMutex is asked for by writers alone
}

// Mix says how callers spend their time.
type Mix struct {
	Work   time.Duration // that each lease takes at least
	Rest   time.Duration // that a caller does nothing between two attempts, at most
	Long   float64       // share of leases that work, for up to 1.5 TTL
	Cancel float64       // share of waits that are cancelled after up to a TTL
	Try    float64       // share of attempts that do not wait
	Idle   bool          // callers rest after each attempt, for up to a third of a TTL: often nobody waits
}

// Order is a line on a client's standard input.
type Order struct {
	Step   Step // stop or kill yourself there, the next time; empty: nowhere any more
	Kill   bool
	Settle bool // say when each caller has come to the end of what it is at
	Finish bool // release all, close, end
}

// Step is a place in the life of an attempt.
type Step string

// The steps. Those with a request lie in the driver, on the very connection.
const (
	Anywhere    Step = "anywhere"     // the controller does it from outside
	BeforeSend  Step = "before-send"  // of lock
	AfterSend   Step = "after-send"   // lock is on its way, the answer was not read
	AfterGrant  Step = "after-grant"  // Lock has returned, its caller has done nothing
	InWork      Step = "in-work"      // between reading and writing
	BeforeWrite Step = "before-write" // has looked whether it holds, and will write
	InRenewal   Step = "in-renewal"   // renew is on its way
	InRelease   Step = "in-release"   // unlock is on its way
)

// Steps are all of them.
var Steps = []Step{Anywhere, BeforeSend, AfterSend, AfterGrant, InWork, BeforeWrite, InRenewal, InRelease}

// Said is a line on a client's standard output.
type Said string

// What a client says.
const (
	Ready   Said = "ready"   // it works
	Reached Said = "reached" // it stops or kills itself now, at the step
	Clear   Said = "clear"   // it will not do so any more
	Settled Said = "settled" // see Order.Settle
	Done    Said = "done"    // all is closed; it ends
)
