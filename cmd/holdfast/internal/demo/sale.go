package demo

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
)

// The sale is made of these times. A slow payment outlasts the ttl: that is the
// case the four ways differ in. All of them play the same times.
const (
	saleTTL       = 400 * time.Millisecond
	slowPayment   = 600 * time.Millisecond
	fastPayment   = 4 * time.Millisecond // and up to 3 ms more
	slowPayments  = 3                    // among all buyers, so that many buyers need not last minutes
	arrivalGap    = 3 * time.Millisecond // between a buyer and the next: less than any payment
	pollInterval  = 50 * time.Millisecond
	visitAttempts = 5 // of a buyer whose lease is lost before it has bought

	openingDelay = 50 * time.Millisecond // so that the news of the opening time reach every process
	playTimeout  = 2 * time.Minute       // for a sale that does not end
	cleanTimeout = 5 * time.Second       // for what is done after ctrl-C
)

// unhurried waits longer for an answer than a service would: buyers, shop and server
// may share one busy machine. The locking has times of its own.
var unhurried = &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) { o.ConnWriteTimeout = 30 * time.Second }}

// sale is the data that all buyers share. A buyer that is a process of its own gets it as
// JSON, by a pipe: URL may contain a password.
type sale struct {
	URL    string `json:"url"`
	Prefix string `json:"prefix"`
	Stock  int    `json:"stock"`
	Buyers int    `json:"buyers"`
}

// key is where the sale of one way keeps a thing in Redis.
func (s *sale) key(way, thing string) string { return s.Prefix + way + ":" + thing }

func (s *sale) tillKey(checked bool) string {
	return s.key(frozenWay, "till-"+strconv.FormatBool(checked))
}

// payment is how long buyer number i takes to pay.
func (s *sale) payment(i int) time.Duration {
	for k := range slowPayments {
		if i == (2*k+1)*s.Buyers/(2*slowPayments+2) {
			return slowPayment
		}
	}
	return fastPayment + time.Duration(i%4)*time.Millisecond
}

func (s *sale) slowBuyers() (slow int) {
	for i := range s.Buyers {
		if s.payment(i) == slowPayment {
			slow++
		}
	}
	return slow
}

// customer is a buyer wherever it runs: in this process or in its own.
type customer interface {
	do(ctx context.Context, t task) (*visit, error)
	leave() error
}

// task is what a buyer is asked to do: to visit the shop after the opening, or one half of
// the way "frozen".
type task struct {
	Sale    *sale  `json:"sale,omitempty"` // of the first task of a process
	Buyer   int    `json:"buyer,omitempty"`
	Way     string `json:"way"`
	Opening int64  `json:"opening"` // Unix time, ns
	Checked bool   `json:"checked,omitempty"`
	Finish  bool   `json:"finish,omitempty"`
}

// visit is what one buyer saw and did. Times count from the opening.
type visit struct {
	Arrived  time.Duration `json:"arrived"`
	Entered  time.Duration `json:"entered"`
	Left     time.Duration `json:"left"`
	Met      bool          `json:"met"`      // another buyer was inside too
	Bought   bool          `json:"bought"`   // false: nothing was left
	Commands int64         `json:"commands"` // sent by the locking
	Foreign  bool          `json:"foreign"`  // deleted a lock that was another buyer's
}

// shop is the side of the sale that sets out the stock and counts afterwards.
type shop struct {
	sale  *sale
	store *rueidisstore.Store
}

// hiring makes one buyer ready: newBuyer or startBuyer.
type hiring = func(context.Context, *sale, int) (customer, error)

// hire makes the buyers of a sale ready, all at once.
func hire(ctx context.Context, s *sale, one hiring) ([]customer, error) {
	buyers := make([]customer, s.Buyers)
	err := atOnce(ctx, s.Buyers, func(ctx context.Context, i int) (err error) {
		buyers[i], err = one(ctx, s, i)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, dismiss(buyers))
	}
	return buyers, nil
}

// dismiss sends the buyers home. Those that were never hired are nil.
func dismiss(buyers []customer) error {
	buyers = slices.DeleteFunc(buyers, func(c customer) bool { return c == nil })
	return atOnce(context.Background(), len(buyers), func(_ context.Context, i int) error { return buyers[i].leave() })
}

// play sets out the stock, opens, and returns when every buyer has left.
func (s *shop) play(ctx context.Context, way string, buyers []customer) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	goods := commands{store: s.store}
	goods.do(ctx, "SET", s.sale.key(way, "stock"), strconv.Itoa(s.sale.Stock))
	t := task{Way: way, Opening: time.Now().Add(openingDelay).UnixNano()}
	visits := make([]*visit, len(buyers))
	err := atOnce(ctx, len(buyers), func(ctx context.Context, i int) (err error) {
		visits[i], err = buyers[i].do(ctx, t)
		return err
	})
	if err != nil || goods.err != nil {
		return nil, errors.Join(err, goods.err)
	}
	sold, left := goods.integer(ctx, "LLEN", s.sale.key(way, "sales")), goods.integer(ctx, "GET", s.sale.key(way, "stock"))
	return newResult(s.sale, way, visits, sold, left), goods.err
}

// close deletes each key that the demo can have made. It names them, because a scan
// would read the whole database.
func (s *shop) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	keys := slices.Concat([]string{s.sale.tillKey(false), s.sale.tillKey(true)}, connect.KeysBeside(s.sale.key(frozenWay, "lock")))
	for _, way := range ways {
		keys = append(keys, s.sale.key(way.name, "stock"), s.sale.key(way.name, "sales"), s.sale.key(way.name, "inside"))
		keys = append(keys, connect.KeysBeside(s.sale.key(way.name, "lock"))...)
	}
	for i := range s.sale.Buyers {
		keys = append(keys, connect.KeysBeside(s.sale.Prefix+warmUpName(i))...)
	}
	return errors.Join(connect.DeleteKeys(ctx, s.store, keys), s.store.Close())
}

// atOnce runs do for 0 to n-1, each in a goroutine of its own, and returns when
// all are done. The first error ends the ctx of the others and is returned.
func atOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// playFrozen plays both: frozen can be frozen, and next is the next buyer.
func (s *shop) playFrozen(ctx context.Context, frozen, next customer) (results []frozenResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	for _, checked := range []bool{false, true} {
		r, err := s.freezeOne(ctx, frozen, next, checked)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (s *shop) freezeOne(ctx context.Context, frozen, next customer, checked bool) (r frozenResult, err error) {
	key, goods := s.sale.tillKey(checked), commands{store: s.store}
	goods.do(ctx, "HSET", key, "stock", "1")
	var began time.Time
	var late *visit
	for _, step := range []func() error{
		func() error { return goods.err },
		func() error { return half(ctx, frozen, checked, nil) },
		func() error { began = time.Now(); return freeze(frozen, true) },
		func() error { return half(ctx, next, checked, nil) }, // it gets the lock when that of the frozen one has expired
		func() error { return half(ctx, next, checked, &late) },
		func() error { r.Froze = milliseconds(time.Since(began)); return freeze(frozen, false) },
		func() error { return half(ctx, frozen, checked, &late) },
	} {
		if err := step(); err != nil {
			return r, err
		}
	}
	r.TokenChecked, r.Refused, r.Sold = checked, !late.Bought, goods.integer(ctx, "HGET", key, "sold")
	r.Oversold = max(0, r.Sold-1)
	return r, goods.err
}

// half lets c begin a purchase, or finish it, with what it saw in v.
func half(ctx context.Context, c customer, checked bool, v **visit) error {
	seen, err := c.do(ctx, task{Way: frozenWay, Checked: checked, Finish: v != nil})
	if v != nil {
		*v = seen
	}
	return err
}
