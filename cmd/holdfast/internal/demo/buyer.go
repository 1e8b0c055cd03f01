package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
)

// buyer has connections and a Client of its own.
type buyer struct {
	name   string
	store  *rueidisstore.Store
	lock   *gate // what the locking sends
	client *holdfast.Client
}

// unhurried waits longer for an answer than a service would: buyers, shop and server
// may share one busy machine. The locking has times of its own.
var unhurried = &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) { o.ConnWriteTimeout = 30 * time.Second }}

// newBuyer connects a buyer. Everything that is done once, such as connecting,
// subscribing and loading scripts, is done here and not in the sale.
func newBuyer(ctx context.Context, s *sale, number int) (*buyer, error) {
	store, err := connect.OpenStore(ctx, s.url, unhurried)
	if err != nil {
		return nil, err
	}
	b := &buyer{name: fmt.Sprintf("buyer %d", number), store: store, lock: &gate{Store: store}}
	b.client = holdfast.New(b.lock, &holdfast.Options{Prefix: s.prefix, TTL: saleTTL, Owner: b.name, Logger: slog.New(slog.DiscardHandler)})
	return b, b.warmUp(ctx, b.client.Mutex(warmUpName(number)))
}

func warmUpName(number int) string { return "warm-up:" + strconv.Itoa(number) }

// attempts bounds how often a buyer tries again: all of them on a busy machine may take longer than
// saleTTL.
const attempts = 20

func (b *buyer) warmUp(ctx context.Context, mutex *holdfast.Mutex) error {
	lease, err := mutex.Lock(ctx)
	for try := 1; try < attempts && errors.Is(err, holdfast.ErrUnreachable); try++ {
		lease, err = mutex.Lock(ctx)
	}
	if err != nil {
		return err
	}
	second, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, _ = mutex.Lock(second) // a wait makes the Client subscribe
	_ = lease.Release()
	return nil
}

func (b *buyer) leave() error {
	if b == nil {
		return nil
	}
	return errors.Join(b.client.Close(), b.store.Close())
}

// visit is what one buyer saw and did. Times count from the opening.
type visit struct {
	Arrived, Entered, Left time.Duration

	Met      bool  // another buyer was inside too
	Bought   bool  // false: nothing was left, or the till refused
	Commands int64 // sent by the locking
}

// visit lets the buyer into a shop to buy. pay pays, then asks the lock whether the buyer may still
// write. If not, nothing was written, and the buyer joins the queue again.
func (b *buyer) visit(ctx context.Context, s *shop, pay func(lock) error) (*visit, error) {
	b.lock.sent.Store(0)
	v := &visit{Arrived: time.Since(s.opened)}
	for range attempts {
		l, err := b.acquire(ctx, s)
		if err == nil {
			err = s.sell(ctx, b.store, l, pay, v)
			_ = l.Release() // else it ends with its ttl
		}
		if v.Commands = b.lock.sent.Load(); !errors.Is(err, holdfast.ErrLost) && !errors.Is(err, holdfast.ErrUnreachable) {
			return v, err
		}
	}
	return nil, fmt.Errorf("%s lost its lease %d times: is the machine overloaded?", b.name, attempts)
}

// lock is what a buyer has of the lock of a shop: a *holdfast.Lease, or believed.
type lock interface {
	Token() int64
	Err() error // may the buyer still write? Only holdfast knows
	Release() error
}

// believed is a lock whose owner does not know when it is over. It is the function that releases it.
type believed func() error

func (believed) Token() int64           { return 0 }
func (believed) Err() error             { return nil }
func (release believed) Release() error { return release() }

// deleting releases setnx and expiring. It returns whose key it deleted, which changes only what is
// reported.
var deleting = driver.NewScript("delete", `
local v = redis.call('GET', KEYS[1])
if v ~= ARGV[1] and ARGV[2] ~= 'setnx' then return ARGV[1] end
redis.call('DEL', KEYS[1])
return v or ARGV[1]`)

// acquire blocks until the buyer may enter, as far as the shop knows.
func (b *buyer) acquire(ctx context.Context, s *shop) (lock, error) {
	var take []string
	ttl := strconv.FormatInt(saleTTL.Milliseconds(), 10)
	switch s.name {
	case "none":
		return believed(func() error { return nil }), nil
	case "setnx": // the lock of a thousand blog posts: SETNX, EXPIRE, poll, DEL
		take = []string{"SETNX", b.name}
	case "expiring": // what the documentation of SET says, and nothing about work that takes longer than the ttl
		take = []string{"SET", b.name, "NX", "PX", ttl}
	default:
		return b.client.Mutex(s.name).Lock(ctx)
	}
	for {
		reply, err := run(ctx, b.lock, connect.AnyCommand, s.key, take...)
		if err != nil {
			return nil, err
		}
		if reply == "OK" || reply == "1" {
			break
		}
		cli.Sleep(ctx, pollInterval)
	}
	if s.name == "setnx" { // PEXPIRE, because the ttl is below a second; after a crash before it the key stays for ever
		if _, err := run(ctx, b.lock, connect.AnyCommand, s.key, "PEXPIRE", ttl); err != nil {
			return nil, err
		}
	}
	return believed(func() error {
		owner, err := run(context.WithoutCancel(ctx), b.lock, deleting, s.key, b.name, s.name)
		if err == nil && owner != b.name {
			s.foreign.Add(1)
		}
		return err
	}), nil
}

// gate is a Store that counts what goes through it. While it is frozen, nothing does, as if the
// process were frozen.
type gate struct {
	driver.Store
	sent   atomic.Int64
	frozen sync.RWMutex
}

func (g *gate) pass(n int) {
	g.frozen.RLock()
	defer g.frozen.RUnlock()
	g.sent.Add(int64(n))
}

func (g *gate) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	g.pass(1)
	return g.Store.Eval(ctx, call)
}

func (g *gate) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	g.pass(len(calls))
	return g.Store.EvalAll(ctx, calls)
}

// shop sells in one way. Its stock is in a hash beside the key of its lock.
type shop struct {
	name   string
	stock  int
	gap    time.Duration // between the arrivals of two buyers
	checks bool          // the till checks the token

	key              string
	opened           time.Time
	inside, payments atomic.Int64
	foreign          atomic.Int64 // locks that another buyer than their owner deleted
}

const stockKey = ":stock"

// open sets out the stock.
func (s *shop) open(ctx context.Context, of *sale) error {
	s.key, s.opened = of.prefix+s.name, time.Now()
	of.keys = append(append(of.keys, s.key+stockKey), connect.KeysBeside(s.key)...)
	_, err := run(ctx, of.store, connect.AnyCommand, s.key+stockKey, "HSET", "stock", strconv.Itoa(s.stock))
	return err
}

// till returns the stock, or writes it after a sale. It refuses a token that is older than the newest
// it has seen, and remembers it, before anything is read. All tokens are 0 in a shop that does not
// check them.
var till = driver.NewScript("till", `
local newest = redis.call('HGET', KEYS[1], 'token') or '0'
if tonumber(ARGV[1]) < tonumber(newest) then
  return redis.error_reply('STALE token ' .. ARGV[1] .. ' after ' .. newest)
end
redis.call('HSET', KEYS[1], 'token', ARGV[1])
if ARGV[2] then redis.call('HSET', KEYS[1], 'stock', ARGV[2]) end
return redis.call('HGET', KEYS[1], 'stock')`)

// sell is what the lock is there to protect: read the stock, pay, write the stock. Redis could do
// this in one atomic step; a shop whose payment is somewhere else could not.
func (s *shop) sell(ctx context.Context, store driver.Store, l lock, pay func(lock) error, v *visit) error {
	token := "0"
	if s.checks {
		token = strconv.FormatInt(l.Token(), 10)
	}
	v.Met = s.inside.Add(1) > 1 || v.Met
	v.Entered = time.Since(s.opened)
	stock, err := run(ctx, store, till, s.key+stockKey, token)
	if left, _ := strconv.Atoi(stock); left > 0 {
		if err = pay(l); err == nil {
			_, err = run(ctx, store, till, s.key+stockKey, token, strconv.Itoa(left-1))
			v.Bought = err == nil
		}
	}
	v.Left = time.Since(s.opened)
	v.Met = s.inside.Add(-1) > 0 || v.Met
	if refused, _ := errors.AsType[driver.ServerError](err); strings.HasPrefix(string(refused), "STALE ") {
		return nil
	}
	return err
}

// run runs a script with one key. It returns the only element of the reply, or "".
func run(ctx context.Context, store driver.Store, script *driver.Script, key string, args ...string) (string, error) {
	reply, err := store.Eval(ctx, driver.Call{Script: script, Keys: []string{key}, Args: args})
	return strings.Join(reply, ""), err
}
