package holdfast

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-go/holdfast/internal/details"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
)

const (
	// DefaultPrefix is the default of [Options.Prefix].
	DefaultPrefix = "holdfast:"
	// NoPrefix as [Options.Prefix] makes the name itself the key, to share locks with
	// clients of other libraries.
	NoPrefix = "\x00"

	// DefaultTTL is the default of [Options.TTL].
	DefaultTTL = 15 * time.Second
	// MinTTL is the shortest [Options.TTL].
	MinTTL = 100 * time.Millisecond
	// MaxTTL is the longest [Options.TTL].
	MaxTTL = 24 * time.Hour

	// MinTokenMemory is the shortest [Options.TokenMemory].
	MinTokenMemory = time.Minute
	// MaxTokenMemory is the longest [Options.TokenMemory], and the default.
	MaxTokenMemory = protocol.RecordTTL // 25 h

	// MaxWaitReplicas is the largest [Options.WaitReplicas].
	MaxWaitReplicas = 64
)

// Options are the settings of a [Client]. The zero value of a field, and nil Options,
// mean the default.
type Options struct {
	// Prefix is put before each name: both together are the lock key in Redis. The
	// default is [DefaultPrefix]; [NoPrefix] means none.
	Prefix string

	// TTL is how long a name stays locked in Redis after the last renewal, in whole
	// milliseconds from [MinTTL] to [MaxTTL]. The default is [DefaultTTL]. A holder
	// renews every third of it. A longer TTL survives longer outages of Redis, but
	// others wait longer for a crashed holder.
	TTL time.Duration

	// Owner is the label by which people recognise this process. The default is
	// host:pid. It is truncated to 64 bytes; "|" and unprintable characters become "_".
	// It proves nothing, because every writer to Redis can claim any label.
	Owner string

	// Details describe this process in package admin while the Client holds or
	// waits for a name. The Client writes them at its first grant or place in a queue,
	// and then every 20 min. No lock waits for that. Close removes them. After a crash
	// they expire after an hour and a TTL. The default nil means none. See
	// [ProcessDetails].
	Details *Details

	// Linger keeps an idle name for up to this long after its last Release, so that
	// this process can lock it again without Redis. The client gives the name up at
	// once when another process waits for it. A TryLock of another process finds the
	// name held. The default is 0: no name is kept.
	Linger time.Duration

	// WaitReplicas is how many replicas must acknowledge a grant before Lock returns
	// the lease, and a renewal before it counts. A failover to one of them then keeps
	// the lock. Set it to the number of all replicas that could be promoted; their
	// clocks must agree. It is at most [MaxWaitReplicas]. The default is 0: a failover
	// can lose the newest grants.
	//
	// If too few acknowledge a grant, the client gives it back and Lock returns
	// [ErrReplicas]. If too few acknowledge a renewal, the client retries until the
	// deadline. So one missing replica stops all locking.
	WaitReplicas int

	// RepairOrphans makes a waiter repair a lock key that has no expiry and did not change
	// for this long. The waiter sets its expiry to TTL. A client of another library can
	// leave such a key between SETNX and EXPIRE. The default is never, because such a key
	// can be intended.
	RepairOrphans time.Duration

	// TokenMemory is how long Redis remembers the newest fencing token of a name after its
	// newest grant or renewal, from [MinTokenMemory] to [MaxTokenMemory] in whole
	// milliseconds. The default is MaxTokenMemory. If your program uses many names once,
	// a shorter time saves memory in Redis, about 150 bytes for each name.
	//
	// A token is made from the clock of Redis. So after that time tokens of the name still
	// rise, unless the clock has gone back since, for example by a failover to a server
	// whose clock is behind. Redis remembers the token for longer than TokenMemory where
	// a lease needs it: for the TTL, until MinHold is over, and while an exported lease
	// is held. Clients with different values can use one name: none shortens the time that
	// another has set. The size of a [Semaphore] lives as long, unless Resize has set it.
	TokenMemory time.Duration

	// Logger logs problems that no call can return, such as a failed cleanup or a
	// Client without Close. The default is [slog.Default].
	Logger *slog.Logger

	// OnEvent receives events in order, from one goroutine. No lock waits for it. If it
	// falls behind by more than 1,024 events, further events are dropped, and [Dropped]
	// has their number. The default is none.
	OnEvent func(Event)
}

// withDefaults returns a copy with all defaults. It panics if an option is out of
// range.
func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	v.Prefix = keyspace.Prefix(v.Prefix)
	if err := keyspace.CheckPrefix(v.Prefix); err != nil {
		panic("holdfast: Options.Prefix " + err.Error())
	}
	if v.TTL == 0 {
		v.TTL = DefaultTTL
	}
	validateTTL("Options.TTL", v.TTL)
	if v.Linger < 0 {
		panic(fmt.Sprintf("holdfast: Options.Linger is %v: it must not be negative", v.Linger))
	}
	if v.RepairOrphans < 0 {
		panic(fmt.Sprintf("holdfast: Options.RepairOrphans is %v: it must not be negative", v.RepairOrphans))
	}
	if m := v.TokenMemory; m != 0 && (m < MinTokenMemory || m > MaxTokenMemory || m%time.Millisecond != 0) {
		panic(fmt.Sprintf("holdfast: Options.TokenMemory is %v: it must be whole milliseconds from %v to %v", m, MinTokenMemory, MaxTokenMemory))
	}
	if v.TokenMemory == MaxTokenMemory {
		v.TokenMemory = 0 // the default: nothing is compared
	}
	if v.WaitReplicas < 0 || v.WaitReplicas > MaxWaitReplicas {
		panic(fmt.Sprintf("holdfast: Options.WaitReplicas is %d: it must be from 0 to %d", v.WaitReplicas, MaxWaitReplicas))
	}
	if v.Owner == "" {
		v.Owner = defaultOwner()
	}
	v.Owner = keyspace.CleanOwner(v.Owner)
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	return v
}

func validateTTL(what string, ttl time.Duration) {
	if ttl < MinTTL || ttl > MaxTTL || ttl%time.Millisecond != 0 {
		panic(fmt.Sprintf("holdfast: %s is %v: it must be whole milliseconds from %v to %v", what, ttl, MinTTL, MaxTTL))
	}
}

func defaultOwner() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = filepath.Base(os.Args[0])
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// MaxQuorumTTL is the longest TTL on a quorum. A restarted node does not vote for this
// long, because it may have forgotten a vote.
const MaxQuorumTTL = protocol.MaxQuorumTTL // 1 min

// Details describe the process of a Client to people. Users with read access to Redis
// can read them, so they must hold no secret. Users with write access can forge them.
// All fields may be empty. Unprintable characters become "_", and each text is cut to
// [MaxDetail] bytes.
type Details struct {
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	User    string `json:"user,omitempty"`
	Program string `json:"program,omitempty"` // file name of the program
	Command string `json:"command,omitempty"` // command that runs while the name is held
	Note    string `json:"note,omitempty"`    // any help: a ticket, a team, a link to a log

	// Expect is how long the process expects to hold a name, at most 744 h. After that
	// package diagnose calls it held long. The default 0 means unknown.
	Expect time.Duration `json:"-"`

	// Parent and Within are the Client.ID of the 'holdfast run' or 'holdfast elect' that has
	// started this process, and the name that it holds. With them package diagnose finds
	// nested commands that wait for each other.
	Parent string `json:"parent,omitempty"`
	Within string `json:"within,omitempty"`
}

// MaxDetail is the longest text of [Details], in bytes.
const MaxDetail = details.MaxField // 256

// ProcessDetails returns host, pid, user and program of this process, as far as they
// are known, and Parent and Within from the environment. The other fields are empty.
func ProcessDetails() *Details {
	d := Details(details.OfThisProcess())
	return &d
}

// String returns a text like "alice, pid 4121 on web-3", as far as it is known.
func (d *Details) String() string {
	if d == nil {
		return ""
	}
	return details.Process(*d).String()
}
