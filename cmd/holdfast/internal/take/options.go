package take

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/operate"
	"github.com/spf13/pflag"
)

// maxGrace bounds the default of --grace.
const maxGrace = 10 * time.Second

// Options are the flags of `holdfast run`.
type Options struct {
	NoWait   bool
	Wait     time.Duration // 0: without end
	TTL      time.Duration
	Grace    time.Duration
	MinHold  time.Duration
	Every    time.Duration // 0: at no ticks
	At       string        // --at; empty: the first start says
	Tick     time.Time     // what at says
	MaxHold  time.Duration // 0: without end
	BusyCode int
	Replicas int
	Kind     Kind
	Steal    operate.Options // the holder to take the name from; no tenure: none
	Details  Details
	PassURL  bool   // the command gets the password in the URL
	Endless  bool   // go on while Redis does not answer
	Silent   bool   // write no journal
	Status   string // file for the state; empty: none
	Guard    string // hidden: this process is a guard, and these are its pipes
}

// LeaseFlags are those of each command that runs another under a lease.
func (o *Options) LeaseFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.TTL, "ttl", holdfast.DefaultTTL, "the lock is free this long after this machine died")
	flags.DurationVar(&o.Grace, "grace", 0, "time from TERM to KILL when the lease is lost, at most ttl/3 (default ttl/4, at most "+maxGrace.String()+")")
	o.Details.Flags(flags)
	flags.IntVar(&o.Replicas, "wait-replicas", 0, "wait until `N` replicas have the lock, and again at each renewal; N is the number of all replicas that can become master")
	flags.BoolVar(&o.PassURL, "pass-url", false, "leave the password in the HOLDFAST_REDIS_URL of COMMAND")
}

// Check says what is wrong with the flags and fills in what depends on others.
func (o *Options) Check(given func(flag string) bool) error {
	if !given("grace") {
		o.Grace = min(o.TTL/4, maxGrace)
	}
	switch {
	case given("no-wait") && given("wait"):
		return cli.Usagef("--no-wait and --wait exclude each other")
	case o.Wait < 0:
		return cli.Usagef("--wait is %v: it must not be negative", o.Wait)
	case o.TTL < holdfast.MinTTL || o.TTL > holdfast.MaxTTL || o.TTL%time.Millisecond != 0:
		return cli.Usagef("--ttl is %v: it must be whole milliseconds from %v to %v", o.TTL, holdfast.MinTTL, console.Age(holdfast.MaxTTL))
	case o.Grace < 0 || o.Grace > o.TTL/3:
		return cli.Usagef("--grace is %v: it must be between 0 and a third of the ttl, %v", o.Grace, (o.TTL / 3).Truncate(time.Millisecond))
	case o.MinHold < 0 || o.MinHold > holdfast.MaxMinHold:
		return cli.Usagef("--min-hold is %v: it must be from 0 to %v", o.MinHold, holdfast.MaxMinHold)
	case o.MaxHold < 0 || given("max-hold") && o.MaxHold == 0:
		return cli.Usagef("--max-hold is %v: it must be more than 0", o.MaxHold)
	case o.Details.Expect < 0 || given("expect") && o.Details.Expect == 0 || o.Details.Expect > holdfast.MaxMinHold || o.Details.Expect%time.Millisecond != 0:
		return cli.Usagef("--expect is %v: it must be whole milliseconds, up to %s", o.Details.Expect, console.Age(holdfast.MaxMinHold))
	case o.Replicas < 0 || o.Replicas > holdfast.MaxWaitReplicas:
		return cli.Usagef("--wait-replicas is %d: it must be from 0 to %d", o.Replicas, holdfast.MaxWaitReplicas)
	case o.BusyCode < 0 || o.BusyCode > 255:
		return cli.Usagef("--busy-code is %d: exit codes go from 0 to 255", o.BusyCode)
	}
	if err := o.checkSteal(given); err != nil {
		return err
	}
	if given("wait") && o.Wait == 0 {
		o.NoWait = true
	}
	if err := o.checkEvery(given); err != nil {
		return err
	}
	return o.Kind.check(given, o.MinHold > 0)
}

// checkSteal says what is wrong with --steal and --reason. A reason alone is none: a
// variable may have set it, for other commands.
func (o *Options) checkSteal(given func(flag string) bool) error {
	switch {
	case !given("steal"):
		return nil
	case !operate.IsHash(o.Steal.Tenure):
		return cli.Usagef("--steal wants the hash of the holder, 10 hex digits; 'holdfast show' prints it")
	case strings.TrimSpace(o.Steal.Reason) == "":
		return cli.Usagef("--steal needs --reason TEXT: the holder that loses the lock reads it")
	case o.Every > 0:
		return cli.Usagef("--steal and --every exclude each other: a tick has no holder to take it from")
	case o.Kind != Kind{permits: 1}:
		return cli.Usagef("--steal and --shared, --exclusive, --of exclude each other: use 'holdfast steal' for one of several holders")
	}
	return nil
}

// checkEvery says what is wrong with --every and --at, and reads the latter.
func (o *Options) checkEvery(given func(flag string) bool) (err error) {
	switch {
	case given("at") && !given("every"):
		return cli.Usagef("--at needs --every PERIOD")
	case !given("every"):
		return nil
	case o.Every < time.Millisecond || o.Every > holdfast.MaxMinHold || o.Every%time.Millisecond != 0:
		return cli.Usagef("--every is %v: it must be whole milliseconds, up to %s", o.Every, console.Age(holdfast.MaxMinHold))
	case o.Wait > 0:
		return cli.Usagef("--every and --wait exclude each other: a start that is not due is skipped")
	case o.MinHold > 0:
		return cli.Usagef("--every and --min-hold exclude each other: a tick begins once, even if the command is quick")
	case o.Kind != Kind{permits: 1}:
		return cli.Usagef("--every and --shared, --exclusive, --of exclude each other: a schedule needs a mutex")
	}
	o.Tick, err = tickAt(o.At, o.Every)
	return err
}

// tickAt reads --at: a moment at which there is a tick.
func tickAt(text string, every time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 || d >= every {
			return time.Time{}, cli.Usagef("--at is %s: it must be from 0 to less than --every, which is %v", text, every)
		}
		return time.UnixMicro(0).Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, cli.Usagef("--at is %q: want a duration, such as 10m, or a moment, such as 2026-01-05T03:10:00Z", text)
	}
	return at, nil
}

// Kind are the flags of run that say what a name is. The zero value is a
// mutex.
type Kind struct {
	shared    bool // a reader
	exclusive bool // a writer
	permits   int
	size      int // of a semaphore; 0: none
}

// Flags gives a command the flags.
func (k *Kind) Flags(flags *pflag.FlagSet) {
	flags.BoolVarP(&k.shared, "shared", "s", false, "hold the lock together with other --shared")
	flags.BoolVarP(&k.exclusive, "exclusive", "x", false, "hold the lock alone, where others use --shared")
	flags.IntVar(&k.permits, "permits", 1, "`N` permits to take, of those of --of")
	flags.IntVar(&k.size, "of", 0, "`SIZE` of a semaphore: run at most this many at a time")
}

// check says which flags exclude each other, and what the library can't.
func (k *Kind) check(given func(flag string) bool, minHold bool) error {
	first := map[bool]string{true: "--shared", false: "--exclusive"}[k.shared]
	switch {
	case k.shared && k.exclusive:
		return cli.Usagef("--shared and --exclusive exclude each other")
	case (k.shared || k.exclusive) && (given("of") || given("permits")):
		return cli.Usagef("%s and %s exclude each other: NAME is one kind of lock", first, map[bool]string{true: "--of", false: "--permits"}[given("of")])
	case given("permits") && !given("of"):
		return cli.Usagef("--permits needs --of SIZE, the permits of NAME in all")
	case given("of") && (k.size < 1 || k.size > holdfast.MaxSize):
		return cli.Usagef("--of is %d: it must be from 1 to %d", k.size, holdfast.MaxSize)
	case given("of") && (k.permits < 1 || k.permits > k.size):
		return cli.Usagef("--permits is %d: it must be from 1 to --of, which is %d", k.permits, k.size)
	case minHold && (k.shared || k.exclusive):
		return cli.Usagef("--min-hold and %s exclude each other: only a mutex has a cool-down", first)
	case minHold && k.size > 0:
		return cli.Usagef("--min-hold and --of exclude each other: only a mutex has a cool-down")
	}
	return nil
}

func (o *Options) taker(client *connect.Session, name string) taker {
	switch k := o.Kind; {
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
	m.MinHold = o.MinHold
	return taker{name, m.Lock, m.TryLock}
}

// JournalFlag gives a command the flag --no-journal.
func JournalFlag(flags *pflag.FlagSet, silent *bool) {
	flags.BoolVar(silent, "no-journal", false, "write nothing to the journal (history, watch, audit, jobs)")
}
