package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/driver"
)

// What no lock can prevent: a holder is frozen between its last check of the lease and
// its write, for longer than the ttl. The next buyer buys the only piece. Then the first
// one goes on, and writes. It is played twice: with a till that accepts each write, and
// with one that checks the token.

// till is one key of the shop that notes a sale. With a token it refuses one that
// is older than the newest it has seen, and remembers it, before anything is read.
var till = connect.NewScript("till", `
if ARGV[1] ~= '' then
  local newest = redis.call('HGET', KEYS[1], 'token') or '0'
  if tonumber(ARGV[1]) < tonumber(newest) then
    return redis.error_reply('STALE token ' .. ARGV[1] .. ' after ' .. newest)
  end
  redis.call('HSET', KEYS[1], 'token', ARGV[1])
end
if ARGV[2] then
  redis.call('HSET', KEYS[1], 'stock', ARGV[2])
  redis.call('HINCRBY', KEYS[1], 'sold', 1)
end
return redis.call('HGET', KEYS[1], 'stock')`)

const frozenWay = "frozen"

// frozenResult is how that went.
type frozenResult struct {
	checked bool // the till checked the token
	sold    int
	refused bool          // the late write was
	froze   time.Duration // how long the holder stood still
}

func (r frozenResult) oversold() int { return max(0, r.sold-1) }

// purchase is what a buyer has begun and not written yet.
type purchase struct {
	lease *holdfast.Lease
	key   string
	token string // for the till; empty: it does not check
	left  int64
}

func (s *sale) tillKey(checked bool) string {
	return s.key(frozenWay, "till-"+strconv.FormatBool(checked))
}

// begin locks, reads the stock, and checks the lease for the last time.
func (b *buyer) begin(ctx context.Context, checked bool) error {
	for range visitAttempts {
		lease, err := b.client.Mutex(frozenWay + ":lock").Lock(ctx)
		if err != nil {
			return err
		}
		p := &purchase{lease: lease, key: b.sale.tillKey(checked)}
		if checked {
			p.token = strconv.FormatInt(lease.Token(), 10)
		}
		reply, err := b.goods.eval(ctx, till, p.key, p.token)
		if err == nil && len(reply) == 1 {
			p.left, err = strconv.ParseInt(reply[0], 10, 64)
		}
		if err == nil && lease.Err() == nil {
			b.begun = p
			return nil
		}
		if err := errors.Join(err, harmless(lease.Release())); err != nil {
			return err
		}
	}
	return fmt.Errorf("buyer %d lost its lease %d times: is the machine overloaded?", b.number, visitAttempts)
}

// finish writes. It does not check the lease: begin did.
func (b *buyer) finish(ctx context.Context) (*visit, error) {
	p := b.begun
	if p == nil {
		return nil, errors.New("nothing was begun")
	}
	b.begun = nil
	v := &visit{Buyer: b.number}
	if p.left > 0 {
		_, err := b.goods.eval(ctx, till, p.key, p.token, strconv.FormatInt(p.left-1, 10))
		refused, said := errors.AsType[driver.ServerError](err)
		stale := said && strings.HasPrefix(string(refused), "STALE ")
		if err != nil && !stale {
			return nil, errors.Join(err, harmless(p.lease.Release()))
		}
		v.Bought = !stale
	}
	return v, harmless(p.lease.Release())
}

// frozenStep is begin or finish, as an task says.
func (b *buyer) frozenStep(ctx context.Context, e task) (*visit, error) {
	if e.Finish {
		return b.finish(ctx)
	}
	return nil, b.begin(ctx, e.Checked)
}

// sleeper is a buyer that can be frozen.
type sleeper interface {
	begin(ctx context.Context, checked bool) error
	freeze() error
	thaw() error
	finish(ctx context.Context) (*visit, error)
	leave() error
}

// playFrozen plays both.
func (s *shop) playFrozen(ctx context.Context) (results []frozenResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	frozen, err := newSleeper(ctx, s.sale, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, frozen.leave()) }()
	next, err := newBuyer(ctx, s.sale, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, next.close()) }()
	for _, checked := range []bool{false, true} {
		r, err := s.freezeOne(ctx, frozen, next, checked)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (s *shop) freezeOne(ctx context.Context, frozen sleeper, next *buyer, checked bool) (r frozenResult, err error) {
	key := s.sale.tillKey(checked)
	if _, err := s.goods.do(ctx, "HSET", key, "stock", "1"); err != nil {
		return r, err
	}
	if err := frozen.begin(ctx, checked); err != nil {
		return r, err
	}
	began := time.Now()
	if err := frozen.freeze(); err != nil {
		return r, err
	}
	if err = next.begin(ctx, checked); err == nil { // it gets the lock when that of the frozen one has expired
		_, err = next.finish(ctx)
	}
	if err := errors.Join(err, frozen.thaw()); err != nil {
		return r, err
	}
	froze := time.Since(began)
	late, err := frozen.finish(ctx)
	if err != nil {
		return r, err
	}
	sold, err := s.goods.integer(ctx, "HGET", key, "sold")
	return frozenResult{checked: checked, sold: int(sold), refused: !late.Bought, froze: froze}, err
}

// printFrozen says in words what happened.
func printFrozen(s console.Screen, results []frozenResult) {
	s.Printf("\n%s\n", s.Paint(console.Bold, "frozen: a holder is paused after its last check and before its write"))
	for _, r := range results {
		till, late, colour := "accepts each write", "went through", console.Bad
		if r.checked {
			till = "checks the token"
		}
		if r.refused {
			late, colour = "was refused", console.Good
		}
		s.Printf("frozen    the shop %s: after %s the late write %s; %d of 1 sold, %d oversold\n",
			till, console.Duration(r.froze), s.Paint(colour, late), r.sold, r.oversold())
	}
}
