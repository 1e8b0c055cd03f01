package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/pflag"
)

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

// taker takes a name as one kind of lock.
type taker struct {
	name      string
	lock, try func(context.Context) (*holdfast.Lease, error)
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

// withFlags says of a name that is another kind of lock which flags fit it, and how to
// get more permits than there are.
func withFlags(err error) error {
	if errors.Is(err, holdfast.ErrSize) {
		return exitWith(exitUsage, fmt.Errorf("%w: 'holdfast resize' changes that", err))
	}
	var other *holdfast.KindError
	if !errors.As(err, &other) {
		return err
	}
	var hint string
	switch other.Actual {
	case holdfast.KindRWMutex:
		hint = "use --shared or --exclusive"
	case holdfast.KindMutex:
		hint = "leave out --shared, --exclusive and --of"
	case holdfast.KindSemaphore:
		hint = "use --of SIZE"
	}
	return exitWith(exitUsage, fmt.Errorf("%w: %s", err, hint))
}
