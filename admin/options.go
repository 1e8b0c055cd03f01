package admin

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Options are the settings of an [Admin] or a [Quorum]. The zero value of a field, and
// nil Options, mean the default.
type Options struct {
	// Prefix stands before every name, as in [holdfast.Options].
	Prefix string
	// Timeout is how long a call tries to reach the store. The default is 15 s.
	Timeout time.Duration
}

const defaultTimeout = 15 * time.Second

// timeoutFor is how long a Client with this TTL tries to reach its store.
func timeoutFor(ttl time.Duration) time.Duration { return min(max(ttl, time.Second), defaultTimeout) }

func (o *Options) withDefaults() Options {
	v := Options{}
	if o != nil {
		v = *o
	}
	v.Prefix = keyspace.Prefix(v.Prefix)
	if err := keyspace.CheckPrefix(v.Prefix); err != nil {
		panic("holdfast: admin: Options.Prefix " + err.Error())
	}
	if v.Timeout <= 0 {
		v.Timeout = defaultTimeout
	}
	return v
}

// newCaller returns what runs scripts in store. Nothing ends what a caller has left but
// its own time.
func newCaller(store driver.Store) *call.Caller {
	return &call.Caller{Store: store, Life: context.Background(), Clock: clock.New(nil), Attempt: 2 * time.Second}
}

// keysOf returns the keys of a name, or a *holdfast.NameError.
func keysOf(prefix, name string) (*keyspace.Keys, error) {
	k, err := keyspace.KeysOf(prefix, name)
	if err != nil {
		return nil, &holdfast.NameError{Name: name, Reason: err.Error()}
	}
	return k, nil
}

// shardOf returns the shard suffix of a name, empty where channels are not sharded.
func shardOf(store driver.Store, k *keyspace.Keys) string {
	if !store.Sharded() {
		return ""
	}
	return k.ShardSuffix()
}

// refused is the error of a call that the server or its answer refuses for good.
func refused(name string, err error) error { return wire.Failure(name, nil, err) }

// unreachable is the error of a call that got no answer.
func unreachable(name string, err error) error {
	return wire.Failure(name, holdfast.ErrUnreachable, err)
}
