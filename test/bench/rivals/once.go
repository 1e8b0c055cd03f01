package rivals

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// onceEvery is for how long a name cools down. No name of a cell is due again.
const onceEvery = time.Minute

// ErrNotDue is the error of a call that came too early.
var ErrNotDue = errors.New("not due")

// call is a mutex that is nothing but one call, each time of a fresh name.
type call struct {
	name string
	n    int
	do   func(ctx context.Context, name string) error
}

func (c *call) Lock(ctx context.Context) error {
	c.n++
	return c.do(ctx, c.name+":"+strconv.Itoa(c.n))
}

func (c *call) Unlock() error { return nil }

// HoldfastOnce is Once, due each time.
var HoldfastOnce = ofFamily("Client.Once of an empty function. It also records process, time and result.",
	func(client *holdfast.Client, name string) (contend.Mutex, error) {
		return &call{name: name, do: func(ctx context.Context, name string) error { return once(ctx, client, name) }}, nil
	})

func once(ctx context.Context, client *holdfast.Client, name string) error {
	return client.Once(ctx, name, onceEvery, func(context.Context, *holdfast.Lease) error { return nil })
}

// HoldfastNotDue is Once, never due.
var HoldfastNotDue = ofFamily("Client.Once. Its error has process, time and result of the last run.",
	func(client *holdfast.Client, name string) (contend.Mutex, error) {
		if err := once(context.Background(), client, name); err != nil {
			return nil, err
		}
		return &call{do: func(ctx context.Context, _ string) error {
			err := once(ctx, client, name)
			if errors.Is(err, holdfast.ErrNotDue) {
				return nil
			}
			return fmt.Errorf("once more of a name that is not due: %w", err)
		}}, nil
	})

// HoldfastMinHold locks with MinHold.
var HoldfastMinHold = ofFamily("",
	func(client *holdfast.Client, name string) (contend.Mutex, error) {
		n := 0
		return &leased{take: func(ctx context.Context) (*holdfast.Lease, error) {
			n++
			m := client.Mutex(name + ":" + strconv.Itoa(n))
			m.MinHold = onceEvery
			return m.Lock(ctx)
		}}, nil
	})

// SetNX is what programs do without a library: SET NX EX, without a release. want is the
// expected result: nil if it sets the key, or ErrNotDue if the key is there.
func SetNX(want error) contend.Contender {
	return contend.Contender{
		Who: "set-nx-ex", Library: "rueidis",
		Settings: "SET NX EX 60 through rueidis. A run that dies counts, a run of more than 60 s overlaps the next, nothing is recorded.",
		Sends:    []string{"set", "ping"},
		Open: contend.OpenRueidis(func(rc rueidis.Client, name string) contend.Mutex {
			if want == nil {
				return &call{name: name, do: func(ctx context.Context, name string) error { return setOnce(ctx, rc, name) }}
			}
			_ = setOnce(context.Background(), rc, name) // if it fails, so do the calls
			return &call{do: func(ctx context.Context, _ string) error {
				if err := setOnce(ctx, rc, name); !errors.Is(err, want) {
					return fmt.Errorf("SET NX of a key that is there: %w", err)
				}
				return nil
			}}
		}),
	}
}

func setOnce(ctx context.Context, rc rueidis.Client, name string) error {
	err := rc.Do(ctx, rc.B().Set().Key(name).Value("1").Nx().ExSeconds(int64(onceEvery.Seconds())).Build()).Error()
	if rueidis.IsRedisNil(err) {
		return ErrNotDue
	}
	return err
}
