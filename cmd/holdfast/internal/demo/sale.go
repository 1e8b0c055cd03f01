package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
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
)

// sale is the data that all buyers share. A buyer that is a process of its own gets it as
// JSON, by a pipe: URL may contain a password.
type sale struct {
	URL    string `json:"url"`
	Prefix string `json:"prefix"`
	Stock  int    `json:"stock"`
	Buyers int    `json:"buyers"`
}

func newSale(serverURL, prefix string, o options) *sale {
	return &sale{serverURL, prefix, o.stock, o.buyers}
}

// key is where the sale of one way keeps a thing in Redis.
func (s *sale) key(way, thing string) string { return s.Prefix + way + ":" + thing }

// payment is how long buyer number i takes to pay.
func (s *sale) payment(i int) time.Duration {
	for k := range slowPayments {
		if i == (2*k+1)*s.Buyers/(2*slowPayments+2) {
			return slowPayment
		}
	}
	return fastPayment + time.Duration(i%4)*time.Millisecond
}

func (s *sale) slowBuyers() int {
	slow := 0
	for i := range s.Buyers {
		if s.payment(i) == slowPayment {
			slow++
		}
	}
	return slow
}

// visit is what one buyer saw and did. Times count from the opening.
type visit struct {
	Buyer    int           `json:"buyer"`
	Arrived  time.Duration `json:"arrived"`
	Entered  time.Duration `json:"entered"`
	Left     time.Duration `json:"left"`
	Met      bool          `json:"met"`      // another buyer was inside too
	Bought   bool          `json:"bought"`   // false: nothing was left
	Commands int64         `json:"commands"` // sent by the locking
	Foreign  bool          `json:"foreign"`  // deleted a lock that was another buyer's
}

// buyer has connections and a Client of its own.
type buyer struct {
	number int
	sale   *sale
	goods  commands // the shop's commands, not counted
	lock   commands // the locking's commands, counted
	client *holdfast.Client
	close  func() error
	begun  *purchase // by begin
}

// newBuyer connects a buyer. Everything that is done once, such as connecting,
// subscribing and loading scripts, is done here and not in the sale.
func newBuyer(ctx context.Context, s *sale, number int) (*buyer, error) {
	store, err := connect.OpenStoreWith(ctx, s.URL, unhurried)
	if err != nil {
		return nil, err
	}
	counted := &countingStore{Store: store}
	client := holdfast.New(counted, &holdfast.Options{
		Prefix: s.Prefix,
		TTL:    saleTTL,
		Owner:  fmt.Sprintf("buyer %d", number),
		Logger: slog.New(slog.DiscardHandler),
	})
	b := &buyer{
		number: number,
		sale:   s,
		goods:  commands{store, nil},
		lock:   commands{counted, counted},
		client: client,
		close: func() error {
			return errors.Join(client.Close(), store.Close())
		},
	}
	if err := b.warmUp(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// warmUpTries bounds how often a buyer begins, a second each.
const warmUpTries = 20

func (b *buyer) warmUp(ctx context.Context) error {
	mutex := b.client.Mutex(warmUpName(b.number))
	lease, err := mutex.Lock(ctx)
	for try := 0; try < warmUpTries && errors.Is(err, holdfast.ErrUnreachable); try++ {
		lease, err = mutex.Lock(ctx) // all buyers connect at once, which takes a busy machine longer than saleTTL allows
	}
	if err != nil {
		return err
	}
	second, cancel := context.WithTimeout(ctx, 100*time.Millisecond) // a wait makes the client subscribe
	defer cancel()
	if again, err := mutex.Lock(second); err == nil { // the first was lost: a slow machine
		_ = again.Release()
	}
	return harmless(lease.Release())
}

// harmless drops what a Release says that does not matter to the sale: that the
// lease was over, or that no answer came yet; it goes on in the background.
func harmless(err error) error {
	if errors.Is(err, holdfast.ErrLost) || errors.Is(err, holdfast.ErrUnknown) {
		return nil
	}
	return err
}

func warmUpName(number int) string { return "warm-up:" + strconv.Itoa(number) }

// visit lets the buyer arrive in its turn after the opening, and buy.
func (b *buyer) visit(ctx context.Context, wayName string, opening time.Time) (*visit, error) {
	way, err := wayNamed(wayName)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, time.Until(opening.Add(time.Duration(b.number)*arrivalGap))); err != nil {
		return nil, err
	}
	b.lock.counter.reset()
	v := &visit{Buyer: b.number, Arrived: time.Since(opening)}
	for range visitAttempts {
		held, err := way.lock(ctx, b, b.sale.key(way.name, "lock"))
		if err != nil {
			return nil, err
		}
		err = b.shopping(ctx, way.name, opening, held, v)
		foreign, releaseErr := held.release(context.WithoutCancel(ctx))
		v.Foreign = v.Foreign || foreign
		v.Commands = b.lock.counter.sent()
		if errors.Is(err, holdfast.ErrLost) {
			continue // nothing was written: join the queue again
		}
		if err := errors.Join(err, releaseErr); err != nil {
			return nil, err
		}
		return v, nil
	}
	return nil, fmt.Errorf("buyer %d lost its lease %d times: is the machine overloaded?", b.number, visitAttempts)
}

// shopping is what the lock is there to protect: read, pay, write. Redis could
// do this in one atomic step; a shop whose payment is somewhere else could not.
func (b *buyer) shopping(ctx context.Context, way string, opening time.Time, held held, v *visit) (err error) {
	inside := b.sale.key(way, "inside")
	present, err := b.goods.integer(ctx, "INCR", inside)
	if err != nil {
		return err
	}
	v.Entered = time.Since(opening)
	defer func() {
		v.Left = time.Since(opening)
		others, leaveErr := b.goods.integer(context.WithoutCancel(ctx), "DECR", inside)
		v.Met = v.Met || present > 1 || others > 0
		err = errors.Join(err, leaveErr)
	}()

	stock, err := b.goods.integer(ctx, "GET", b.sale.key(way, "stock"))
	if err != nil || stock < 1 {
		return err
	}
	if err := pause(ctx, b.sale.payment(b.number)); err != nil {
		return err
	}
	if err := held.err(); err != nil {
		return err
	}
	if _, err := b.goods.do(ctx, "SET", b.sale.key(way, "stock"), strconv.FormatInt(stock-1, 10)); err != nil {
		return err
	}
	v.Bought = true
	_, err = b.goods.do(ctx, "RPUSH", b.sale.key(way, "sales"), strconv.Itoa(b.number))
	return err
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
