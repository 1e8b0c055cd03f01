package demo

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
)

const (
	// openingDelay gives the news of the opening time to reach every process.
	openingDelay = 50 * time.Millisecond
	// playTimeout ends a sale that does not end.
	playTimeout = 2 * time.Minute
	// cleanTimeout bounds what is done after ctrl-C.
	cleanTimeout = 5 * time.Second
)

// customer is a buyer wherever it runs: in this process or in its own.
type customer interface {
	visit(ctx context.Context, way string, opening time.Time) (*visit, error)
	leave() error
}

func (b *buyer) leave() error { return b.close() }

// shop is the side of the sale that sets out the stock and counts afterwards.
type shop struct {
	sale  *sale
	goods commands
	close func() error
}

func openShop(ctx context.Context, s *sale) (*shop, error) {
	store, err := connect.OpenStoreWith(ctx, s.URL, unhurried)
	if err != nil {
		return nil, err
	}
	return &shop{s, commands{store, nil}, store.Close}, nil
}

// hire makes the buyers of a sale ready, all at once.
func hire(ctx context.Context, s *sale, processes bool) ([]customer, error) {
	buyers := make([]customer, s.Buyers)
	err := atOnce(ctx, s.Buyers, func(ctx context.Context, i int) error {
		if processes {
			p, err := startBuyer(ctx, s, i)
			if err == nil {
				buyers[i] = p
			}
			return err
		}
		b, err := newBuyer(ctx, s, i)
		if err == nil {
			buyers[i] = b
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, dismiss(buyers))
	}
	return buyers, nil
}

// dismiss sends the buyers home. Those that were never hired are nil.
func dismiss(buyers []customer) error {
	return atOnce(context.Background(), len(buyers), func(_ context.Context, i int) error {
		if buyers[i] == nil {
			return nil
		}
		return buyers[i].leave()
	})
}

// unhurried waits longer for an answer than a service would: buyers, shop and server
// may share one busy machine. The locking has times of its own.
var unhurried = &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) { o.ConnWriteTimeout = 30 * time.Second }}

// play sets out the stock, opens, and returns when every buyer has left.
func (s *shop) play(ctx context.Context, way string, buyers []customer) ([]*visit, error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	if _, err := s.goods.do(ctx, "SET", s.sale.key(way, "stock"), strconv.Itoa(s.sale.Stock)); err != nil {
		return nil, err
	}
	// Without a monotonic clock reading, as other processes see it.
	opening := time.Unix(0, time.Now().Add(openingDelay).UnixNano())
	visits := make([]*visit, len(buyers))
	err := atOnce(ctx, len(buyers), func(ctx context.Context, i int) (err error) {
		visits[i], err = buyers[i].visit(ctx, way, opening)
		return err
	})
	return visits, err
}

// books reads what was sold, and what the shop thinks is left.
func (s *shop) books(ctx context.Context, way string) (sold, left int, err error) {
	n, err := s.goods.integer(ctx, "LLEN", s.sale.key(way, "sales"))
	if err != nil {
		return 0, 0, err
	}
	m, err := s.goods.integer(ctx, "GET", s.sale.key(way, "stock"))
	return int(n), int(m), err
}

// removeAll deletes each key that the demo can have made. It names them, because a scan
// would read the whole database.
func (s *shop) removeAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	var keys []string
	locks := []string{s.sale.key("holdfast", "lock"), s.sale.key(frozenWay, "lock")}
	keys = append(keys, s.sale.tillKey(false), s.sale.tillKey(true))
	for _, way := range ways {
		for _, thing := range []string{"stock", "sales", "inside", "lock"} {
			keys = append(keys, s.sale.key(way.name, thing))
		}
	}
	for i := range s.sale.Buyers {
		locks = append(locks, s.sale.Prefix+warmUpName(i))
	}
	for _, lock := range locks { // see the table of keys in docs/protocol.md
		keys = append(keys, lock, "holdfast/fence:{"+lock+"}", "holdfast/queue:{"+lock+"}")
	}
	calls := make([]driver.Call, len(keys))
	for i, key := range keys {
		calls[i] = driver.Call{Script: connect.AnyCommand, Keys: []string{key}, Args: []string{"DEL"}}
	}
	for _, result := range s.goods.store.EvalAll(ctx, calls) {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
}

// atOnce runs do for 0 to n-1, each in a goroutine of its own, and returns when
// all are done. The first error ends the ctx of the others and is returned.
func atOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	var once sync.Once
	var first error
	for i := range n {
		all.Go(func() {
			if err := do(ctx, i); err != nil {
				once.Do(func() { first = err })
				cancel(err)
			}
		})
	}
	all.Wait()
	return first
}
