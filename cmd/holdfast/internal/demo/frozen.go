package demo

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// What no lock can prevent: a holder is frozen between its last check of the lease and
// its write, for longer than the ttl. The next buyer buys the only piece. Then the first
// one goes on, and writes. It is played twice: with a till that accepts each write, and
// with one that checks the token.

// till is one key of the shop that notes a sale. With a token it refuses one that
// is older than the newest it has seen, and remembers it, before anything is read.
var till = driver.NewScript("till", `
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

// purchase is what a buyer has begun and not written yet.
type purchase struct {
	lease *holdfast.Lease
	key   string
	token string // for the till; empty: it does not check
	left  int
}

// begin locks, reads the stock, and checks the lease for the last time.
func (b *buyer) begin(ctx context.Context, checked bool) error {
	return b.attempts(func() error {
		lease, err := b.client.Mutex(frozenWay + ":lock").Lock(ctx)
		if err != nil {
			return err
		}
		b.begun = &purchase{lease: lease, key: b.sale.tillKey(checked)}
		if checked {
			b.begun.token = strconv.FormatInt(lease.Token(), 10)
		}
		goods := commands{store: b.store}
		b.begun.left = goods.number(goods.eval(ctx, till, b.begun.key, b.begun.token))
		if err := cmp.Or(goods.err, lease.Err()); err != nil {
			return errors.Join(err, harmless(lease.Release()))
		}
		return nil
	})
}

// finish writes. It does not check the lease: begin did.
func (b *buyer) finish(ctx context.Context) (*visit, error) {
	p, goods := b.begun, commands{store: b.store}
	if p.left > 0 {
		goods.eval(ctx, till, p.key, p.token, strconv.Itoa(p.left-1))
	}
	refused, _ := errors.AsType[driver.ServerError](goods.err)
	v := &visit{Bought: p.left > 0 && goods.err == nil}
	if strings.HasPrefix(string(refused), "STALE ") {
		goods.err = nil
	}
	return v, errors.Join(goods.err, harmless(p.lease.Release()))
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

// stall replaces freezing where processes cannot be frozen: nothing that the buyer's Client
// sends arrives, so its lock ends as that of a frozen process does.
func stall(c customer, stop bool) { c.(*buyer).lock.stalled.Store(stop) }
