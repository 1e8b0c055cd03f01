package holdfast

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// DefaultPrefix stands before every name unless Options say otherwise.
	DefaultPrefix = "holdfast:"
	// NoPrefix as Options.Prefix makes the name itself the key, for sharing
	// locks with clients of other libraries.
	NoPrefix = "\x00"

	// DefaultTTL is how long a tenure outlives its last renewal.
	DefaultTTL = 15 * time.Second
	// MinTTL is the shortest Options.TTL.
	MinTTL = 100 * time.Millisecond
	// MaxTTL is the longest Options.TTL.
	MaxTTL = 24 * time.Hour

	// MaxWaitReplicas is the largest Options.WaitReplicas.
	MaxWaitReplicas = 64
)

// Options are the settings of a Client. The zero value of each field, and a nil
// *Options, mean the default.
type Options struct {
	// Prefix stands before every name to make its key in Redis. Default
	// DefaultPrefix; NoPrefix for none.
	Prefix string

	// TTL is how long a name stays locked in Redis after its holder was last
	// heard of, in whole milliseconds from MinTTL to MaxTTL. Default
	// DefaultTTL. A holder renews every third of it. A longer TTL rides out
	// longer outages of Redis and makes others wait longer for a crashed
	// holder.
	TTL time.Duration

	// Owner is the label by which people recognise this process. Default
	// host:pid. It is cut to 64 bytes; "|" and what can't be printed become
	// "_". It proves nothing: whoever writes to Redis can claim any.
	Owner string

	// Details are what this Client tells people of its process, for as long as it
	// holds or waits for a name: Inspect and Survey show them. They are written
	// beside the lock, at the first grant or place in line, every 20 minutes
	// after that, and taken away by Close; an hour and a TTL after a crash they
	// are gone. No lock waits for that or fails with it. Default nil: nothing is
	// told. See ProcessDetails, and Details for what must not be in them.
	Details *Details

	// Linger keeps an idle tenure for up to this long after its last lease was
	// released, so that locking the name again here costs nothing. It ends at
	// once when another process waits; a TryLock elsewhere finds it held.
	// Default none.
	Linger time.Duration

	// WaitReplicas is how many replicas must have acknowledged a grant before
	// its caller gets the lease, and a renewal before it counts, so that a
	// failover to any of them keeps the lock. It helps only if it is the number
	// of all replicas that could be promoted, whose clocks agree. At most
	// MaxWaitReplicas; default 0: a failover can lose the newest grants.
	//
	// Too few at a grant: it is given back, and Lock returns ErrReplicas with
	// the numbers. Too few at a renewal: it is tried again until the deadline.
	// So one replica that hangs, or is missing after a failover, stops all
	// locking: what is bought with availability is exclusion. A grant costs a
	// renewal and WAIT more, and each renewal a connection of its own for as
	// long as the replicas take.
	WaitReplicas int

	// RepairOrphans gives a key that has no expiry, as an old client leaves it
	// when it dies between SETNX and EXPIRE, an expiry of TTL after a waiter
	// here saw it unchanged for this long. Default never: somebody may mean it.
	RepairOrphans time.Duration

	// Quorum is the quorum-id of a Client made by NewQuorum, which says more; New
	// refuses it.
	Quorum string

	// Logger gets what nobody is left to return to: clean-up that failed, a
	// Client that was never closed. Default slog.Default().
	Logger *slog.Logger

	// OnEvent is told what happens, in order, from one goroutine that no lock
	// waits for. When it falls behind by more than 1,024 events the rest is
	// dropped, and a Dropped says how many. Default nil.
	OnEvent func(Event)
}

// withDefaults returns a checked copy. Settings out of range are mistakes in
// the program: it panics and says what is allowed.
func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	switch v.Prefix {
	case "":
		v.Prefix = DefaultPrefix
	case NoPrefix:
		v.Prefix = ""
	}
	if err := checkPrefix(v.Prefix); err != nil {
		panic("holdfast: Options.Prefix " + err.Error())
	}
	if v.TTL == 0 {
		v.TTL = DefaultTTL
	}
	if v.TTL < MinTTL || v.TTL > MaxTTL || v.TTL%time.Millisecond != 0 {
		panic(fmt.Sprintf("holdfast: Options.TTL is %v: it must be whole milliseconds from %v to %v", v.TTL, MinTTL, MaxTTL))
	}
	if v.Linger < 0 || v.RepairOrphans < 0 {
		panic("holdfast: Options.Linger and Options.RepairOrphans must not be negative")
	}
	if v.WaitReplicas < 0 || v.WaitReplicas > MaxWaitReplicas {
		panic(fmt.Sprintf("holdfast: Options.WaitReplicas is %d: it must be from 0 to %d", v.WaitReplicas, MaxWaitReplicas))
	}
	if v.Owner == "" {
		v.Owner = defaultOwner()
	}
	v.Owner = cleanOwner(v.Owner)
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	return v
}

func defaultOwner() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = filepath.Base(os.Args[0])
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

const maxOwner = 64

// cleanOwner makes a label that can't break the format of an id.
func cleanOwner(s string) string { return cleanText(strings.ReplaceAll(s, "|", "_"), maxOwner) }

// patience is how long a call goes on trying while the store does not answer,
// before it says so: one TTL, but neither less than a second nor more than
// fifteen.
func (o *Options) patience() time.Duration {
	return min(max(o.TTL, time.Second), 15*time.Second)
}

// attempt is how long one request may take before it is sent again: no longer
// than Release may wait.
func (o *Options) attempt() time.Duration {
	return min(max(o.TTL/2, 250*time.Millisecond), 2*time.Second)
}

// retryWindow is within how long one late grant follows another: the request that is
// sent at once must be answered, or sent once more.
func (o *Options) retryWindow() time.Duration { return 2 * o.attempt() }
