package demo

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
)

// way is one of the ways to keep buyers apart.
type way struct {
	name string
	// lock blocks until b may enter, as far as this way knows.
	lock func(ctx context.Context, b *buyer, key string) (held, error)
}

// The scripts of the demo's own locks.
var (
	deleteAny = connect.NewScript("delete-any", `local v = redis.call('GET', KEYS[1]); redis.call('DEL', KEYS[1]); return v`)
	deleteOwn = connect.NewScript("delete-own", `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
)

// held is what lock gave.
type held struct {
	// err is asked before the sale is written: may we still? Only holdfast knows.
	err func() error
	// release gives the lock back. foreign: what it deleted was another buyer's.
	release func(ctx context.Context) (foreign bool, err error)
}

var ways = []way{
	{"none", lockNothing},
	{"setnx", lockSetNX},
	{"expiring", lockExpiring},
	{"holdfast", lockHoldfast},
}

func wayNamed(name string) (way, error) {
	for _, w := range ways {
		if w.name == name {
			return w, nil
		}
	}
	return way{}, fmt.Errorf("there is no way %q", name)
}

func believe() error { return nil }

func lockNothing(context.Context, *buyer, string) (held, error) {
	return held{believe, func(context.Context) (bool, error) { return false, nil }}, nil
}

// lockSetNX is the lock of a thousand blog posts: SETNX, EXPIRE, poll, DEL.
// (PEXPIRE, because the ttl of the demo is below a second.) A crash between the first two
// commands would leave the key for ever; that is not played here. The DEL returns whose
// key it was. That changes only what is reported.
func lockSetNX(ctx context.Context, b *buyer, key string) (held, error) {
	me := strconv.Itoa(b.number)
	for {
		set, err := b.lock.integer(ctx, "SETNX", key, me)
		if err != nil {
			return held{}, err
		}
		if set == 1 {
			break
		}
		if err := pause(ctx, pollInterval); err != nil {
			return held{}, err
		}
	}
	if _, err := b.lock.do(ctx, "PEXPIRE", key, ttlText()); err != nil {
		return held{}, err
	}
	return held{believe, func(ctx context.Context) (bool, error) {
		reply, err := b.lock.eval(ctx, deleteAny, key)
		return err == nil && len(reply) == 1 && reply[0] != "" && reply[0] != me, err
	}}, nil
}

// lockExpiring does what the documentation of SET says, and nothing about work
// that takes longer than the ttl.
func lockExpiring(ctx context.Context, b *buyer, key string) (held, error) {
	me := strconv.Itoa(b.number)
	for {
		reply, err := b.lock.do(ctx, "SET", key, me, "NX", "PX", ttlText())
		if err != nil {
			return held{}, err
		}
		if len(reply) == 1 && reply[0] == "OK" {
			break
		}
		if err := pause(ctx, pollInterval); err != nil {
			return held{}, err
		}
	}
	return held{believe, func(ctx context.Context) (bool, error) {
		_, err := b.lock.eval(ctx, deleteOwn, key, me)
		return false, err
	}}, nil
}

func lockHoldfast(ctx context.Context, b *buyer, key string) (held, error) {
	name := key[len(b.sale.Prefix):] // the Client puts the prefix before it
	lease, err := b.client.Mutex(name).Lock(ctx)
	if err != nil {
		return held{}, err
	}
	return held{lease.Err, func(context.Context) (bool, error) {
		return false, harmless(lease.Release())
	}}, nil
}

func ttlText() string { return strconv.FormatInt(saleTTL.Milliseconds(), 10) }
