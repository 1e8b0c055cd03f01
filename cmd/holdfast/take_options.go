package main

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/pflag"
)

// maxGrace bounds the default of --grace.
const maxGrace = 10 * time.Second

// runOptions are the flags of `holdfast run`.
type runOptions struct {
	noWait   bool
	wait     time.Duration // 0: without end
	ttl      time.Duration
	grace    time.Duration
	minHold  time.Duration
	every    time.Duration // 0: at no ticks
	at       string        // --at; empty: the first start says
	tick     time.Time     // what at says
	maxHold  time.Duration // 0: without end
	busyCode int
	replicas int
	kind     kindOptions
	steal    orderOptions // the holder to take the name from; no tenure: none
	details  detailOptions
	silent   bool   // write no journal
	status   string // file for the state; empty: none
	guard    string // hidden: this process is a guard, and these are its pipes
}

// leaseFlags are those of each command that runs another under a lease.
func (o *runOptions) leaseFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.ttl, "ttl", holdfast.DefaultTTL, "the lock is free this long after this machine died")
	flags.DurationVar(&o.grace, "grace", 0, "time from TERM to KILL when the lease is lost, at most ttl/3 (default ttl/4, at most "+maxGrace.String()+")")
	o.details.flags(flags)
	flags.IntVar(&o.replicas, "wait-replicas", 0, "wait until `N` replicas have the lock, and again at each renewal; N is the number of all replicas that can become master")
}

// check says what is wrong with the flags and fills in what depends on others.
func (o *runOptions) check(given func(flag string) bool) error {
	if !given("grace") {
		o.grace = min(o.ttl/4, maxGrace)
	}
	switch {
	case given("no-wait") && given("wait"):
		return usagef("--no-wait and --wait exclude each other")
	case o.wait < 0:
		return usagef("--wait is %v: it must not be negative", o.wait)
	case o.ttl < holdfast.MinTTL || o.ttl > holdfast.MaxTTL || o.ttl%time.Millisecond != 0:
		return usagef("--ttl is %v: it must be whole milliseconds from %v to %v", o.ttl, holdfast.MinTTL, age(holdfast.MaxTTL))
	case o.grace < 0 || o.grace > o.ttl/3:
		return usagef("--grace is %v: it must be between 0 and a third of the ttl, %v", o.grace, (o.ttl / 3).Truncate(time.Millisecond))
	case o.minHold < 0 || o.minHold > holdfast.MaxMinHold:
		return usagef("--min-hold is %v: it must be from 0 to %v", o.minHold, holdfast.MaxMinHold)
	case o.maxHold < 0 || given("max-hold") && o.maxHold == 0:
		return usagef("--max-hold is %v: it must be more than 0", o.maxHold)
	case o.replicas < 0 || o.replicas > holdfast.MaxWaitReplicas:
		return usagef("--wait-replicas is %d: it must be from 0 to %d", o.replicas, holdfast.MaxWaitReplicas)
	case o.busyCode < 0 || o.busyCode > 255:
		return usagef("--busy-code is %d: exit codes go from 0 to 255", o.busyCode)
	}
	if err := o.checkSteal(given); err != nil {
		return err
	}
	if given("wait") && o.wait == 0 {
		o.noWait = true
	}
	if err := o.checkEvery(given); err != nil {
		return err
	}
	return o.kind.check(given, o.minHold > 0)
}

// checkSteal says what is wrong with --steal and --reason. A reason alone is none: a
// variable may have set it, for other commands.
func (o *runOptions) checkSteal(given func(flag string) bool) error {
	switch {
	case !given("steal"):
		return nil
	case !isHash(o.steal.tenure):
		return usagef("--steal wants the hash of the holder, 10 hex digits; 'holdfast show' prints it")
	case strings.TrimSpace(o.steal.reason) == "":
		return usagef("--steal needs --reason TEXT: the holder that loses the lock reads it")
	case o.every > 0:
		return usagef("--steal and --every exclude each other: a tick has no holder to take it from")
	case o.kind != kindOptions{permits: 1}:
		return usagef("--steal and --shared, --exclusive, --of exclude each other: use 'holdfast steal' for one of several holders")
	}
	return nil
}

// checkEvery says what is wrong with --every and --at, and reads the latter.
func (o *runOptions) checkEvery(given func(flag string) bool) (err error) {
	switch {
	case given("at") && !given("every"):
		return usagef("--at needs --every PERIOD")
	case !given("every"):
		return nil
	case o.every < time.Millisecond || o.every > holdfast.MaxMinHold || o.every%time.Millisecond != 0:
		return usagef("--every is %v: it must be whole milliseconds, up to %s", o.every, age(holdfast.MaxMinHold))
	case o.wait > 0:
		return usagef("--every and --wait exclude each other: a start that is not due is skipped")
	case o.minHold > 0:
		return usagef("--every and --min-hold exclude each other: a tick begins once, even if the command is quick")
	case o.kind != kindOptions{permits: 1}:
		return usagef("--every and --shared, --exclusive, --of exclude each other: a schedule needs a mutex")
	}
	o.tick, err = tickAt(o.at, o.every)
	return err
}

// tickAt reads --at: a moment at which there is a tick.
func tickAt(text string, every time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 || d >= every {
			return time.Time{}, usagef("--at is %s: it must be from 0 to less than --every, which is %v", text, every)
		}
		return time.UnixMicro(0).Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usagef("--at is %q: want a duration, such as 10m, or a moment, such as 2026-01-05T03:10:00Z", text)
	}
	return at, nil
}

// kindOptions are the flags of run that say what a name is. The zero value is a
// mutex.
type kindOptions struct {
	shared    bool // a reader
	exclusive bool // a writer
	permits   int
	size      int // of a semaphore; 0: none
}

func (k *kindOptions) flags(flags *pflag.FlagSet) {
	flags.BoolVarP(&k.shared, "shared", "s", false, "hold the lock together with other --shared")
	flags.BoolVarP(&k.exclusive, "exclusive", "x", false, "hold the lock alone, where others use --shared")
	flags.IntVar(&k.permits, "permits", 1, "`N` permits to take, of those of --of")
	flags.IntVar(&k.size, "of", 0, "`SIZE` of a semaphore: run at most this many at a time")
}

// check says which flags exclude each other, and what the library can't.
func (k *kindOptions) check(given func(flag string) bool, minHold bool) error {
	first := map[bool]string{true: "--shared", false: "--exclusive"}[k.shared]
	switch {
	case k.shared && k.exclusive:
		return usagef("--shared and --exclusive exclude each other")
	case (k.shared || k.exclusive) && (given("of") || given("permits")):
		return usagef("%s and %s exclude each other: NAME is one kind of lock", first, map[bool]string{true: "--of", false: "--permits"}[given("of")])
	case given("permits") && !given("of"):
		return usagef("--permits needs --of SIZE, the permits of NAME in all")
	case given("of") && (k.size < 1 || k.size > holdfast.MaxSize):
		return usagef("--of is %d: it must be from 1 to %d", k.size, holdfast.MaxSize)
	case given("of") && (k.permits < 1 || k.permits > k.size):
		return usagef("--permits is %d: it must be from 1 to --of, which is %d", k.permits, k.size)
	case minHold && (k.shared || k.exclusive):
		return usagef("--min-hold and %s exclude each other: only a mutex has a cool-down", first)
	case minHold && k.size > 0:
		return usagef("--min-hold and --of exclude each other: only a mutex has a cool-down")
	}
	return nil
}

func (o *runOptions) taker(client *session, name string) taker {
	switch k := o.kind; {
	case k.shared:
		m := client.RWMutex(name)
		return taker{name, m.RLock, m.TryRLock}
	case k.exclusive:
		m := client.RWMutex(name)
		return taker{name, m.Lock, m.TryLock}
	case k.size > 0:
		s := client.Semaphore(name, k.size)
		return taker{
			name,
			func(ctx context.Context) (*holdfast.Lease, error) { return s.Acquire(ctx, k.permits) },
			func(ctx context.Context) (*holdfast.Lease, error) { return s.TryAcquire(ctx, k.permits) },
		}
	}
	m := client.Mutex(name)
	m.MinHold = o.minHold
	return taker{name, m.Lock, m.TryLock}
}

// detailOptions are the flags for what others see of this process.
type detailOptions struct {
	note string
	none bool
}

func (d *detailOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&d.note, "note", "", "`TEXT` for 'holdfast show': a ticket, a team, a log")
	flags.BoolVar(&d.none, "no-details", false, "do not store host, pid, user, command and note for 'holdfast show'")
}

// of are the details while argv runs; nil: none.
func (d *detailOptions) of(argv []string) *holdfast.Details {
	if d.none {
		return nil
	}
	details := holdfast.ProcessDetails()
	details.Command, details.Note = commandLine(argv), d.note
	return details
}

func journalFlag(flags *pflag.FlagSet, silent *bool) {
	flags.BoolVar(silent, "no-journal", false, "write nothing to the journal (history, watch, audit, jobs)")
}
