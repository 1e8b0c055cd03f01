package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// buyer has connections and a Client of its own.
type buyer struct {
	number int
	sale   *sale
	store  *rueidisstore.Store
	lock   *counter // what the locking sends
	client *holdfast.Client
}

// newBuyer connects a buyer. Everything that is done once, such as connecting,
// subscribing and loading scripts, is done here and not in the sale.
func newBuyer(ctx context.Context, s *sale, number int) (*buyer, error) {
	store, err := connect.OpenStore(ctx, s.URL, unhurried)
	if err != nil {
		return nil, err
	}
	b := &buyer{number: number, sale: s, store: store, lock: &counter{Store: store}}
	b.client = holdfast.New(b.lock, &holdfast.Options{
		Prefix: s.Prefix, TTL: saleTTL, Owner: fmt.Sprintf("buyer %d", number), Logger: slog.New(slog.DiscardHandler),
	})
	if err := b.warmUp(ctx); err != nil {
		return nil, errors.Join(err, b.leave())
	}
	return b, nil
}

func (b *buyer) leave() error { return errors.Join(b.client.Close(), b.store.Close()) }

func warmUpName(number int) string { return "warm-up:" + strconv.Itoa(number) }

// warmUpTries bounds how often a buyer begins, a second each: all buyers connect at once,
// which takes a busy machine longer than saleTTL allows.
const warmUpTries = 20

func (b *buyer) warmUp(ctx context.Context) error {
	mutex := b.client.Mutex(warmUpName(b.number))
	lease, err := mutex.Lock(ctx)
	for try := 0; try < warmUpTries && errors.Is(err, holdfast.ErrUnreachable); try++ {
		lease, err = mutex.Lock(ctx)
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

// attempts tries again what ended with a lost lease.
func (b *buyer) attempts(try func() error) error {
	for range visitAttempts {
		if err := try(); !errors.Is(err, holdfast.ErrLost) {
			return err
		}
	}
	return fmt.Errorf("buyer %d lost its lease %d times: is the machine overloaded?", b.number, visitAttempts)
}

// visit lets the buyer arrive in its turn after the opening, and buy.
func (b *buyer) visit(ctx context.Context, way way, opening time.Time) (*visit, error) {
	if err := pause(ctx, time.Until(opening.Add(time.Duration(b.number)*arrivalGap))); err != nil {
		return nil, err
	}
	b.lock.sent.Store(0)
	v := &visit{Arrived: time.Since(opening)}
	return v, b.attempts(func() error {
		may, release, err := way.lock(ctx, b, b.sale.key(way.name, "lock"))
		if err != nil {
			return err
		}
		err = b.shopping(ctx, way.name, opening, may, v)
		foreign, releaseErr := release(context.WithoutCancel(ctx))
		v.Foreign, v.Commands = v.Foreign || foreign, b.lock.sent.Load()
		return errors.Join(err, releaseErr) // after a loss nothing was written: join the queue again
	})
}

// shopping is what the lock is there to protect: read, pay, write. Redis could
// do this in one atomic step; a shop whose payment is somewhere else could not.
func (b *buyer) shopping(ctx context.Context, way string, opening time.Time, may func() error, v *visit) error {
	goods, inside, stockKey := commands{store: b.store}, b.sale.key(way, "inside"), b.sale.key(way, "stock")
	present := goods.integer(ctx, "INCR", inside)
	if goods.err != nil {
		return goods.err
	}
	v.Entered = time.Since(opening)
	stock := goods.integer(ctx, "GET", stockKey)
	var err error
	if goods.err == nil && stock > 0 {
		turn := goods.integer(ctx, "INCR", b.sale.key(way, "payments"))
		if err = cmp.Or(pause(ctx, b.sale.payment(turn-1)), may()); err == nil {
			goods.do(ctx, "SET", stockKey, strconv.Itoa(stock-1))
			v.Bought = goods.err == nil
			goods.do(ctx, "RPUSH", b.sale.key(way, "sales"), strconv.Itoa(b.number))
		}
	}
	v.Left = time.Since(opening)
	leaving := commands{store: b.store}
	others := leaving.integer(context.WithoutCancel(ctx), "DECR", inside)
	v.Met = v.Met || present > 1 || others > 0
	return errors.Join(err, goods.err, leaving.err)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if cli.Sleep(ctx, d) {
		return nil
	}
	return context.Cause(ctx)
}

// way is one of the ways to let one buyer in at a time: lock blocks until b may enter, as far as this
// way knows. may is asked before the sale is written: may we still? Only holdfast knows.
type way struct {
	name string
	lock func(ctx context.Context, b *buyer, key string) (may func() error, release release, err error)
}

// release gives the lock back. foreign: what it deleted was another buyer's.
type release func(ctx context.Context) (foreign bool, err error)

var ways = []way{
	{"none", func(context.Context, *buyer, string) (func() error, release, error) {
		return believe, func(context.Context) (bool, error) { return false, nil }, nil
	}},
	{"setnx", lockSetNX},
	{"expiring", lockExpiring},
	{"holdfast", func(ctx context.Context, b *buyer, key string) (func() error, release, error) {
		lease, err := b.client.Mutex(key[len(b.sale.Prefix):]).Lock(ctx) // the Client puts the prefix before the name
		if err != nil {
			return nil, nil, err
		}
		return lease.Err, func(context.Context) (bool, error) { return false, harmless(lease.Release()) }, nil
	}},
}

func believe() error { return nil }

var ttlText = strconv.FormatInt(saleTTL.Milliseconds(), 10)

// lockSetNX is the lock of a thousand blog posts: SETNX, EXPIRE, poll, DEL.
// (PEXPIRE, because the ttl of the demo is below a second.) A crash between the first two
// commands would leave the key for ever; that is not played here. The DEL returns whose
// key it was. That changes only what is reported.
func lockSetNX(ctx context.Context, b *buyer, key string) (func() error, release, error) {
	const deleteAny = `local v = redis.call('GET', KEYS[1]); redis.call('DEL', KEYS[1]); return v`
	c, me := commands{store: b.lock}, strconv.Itoa(b.number)
	c.pollUntil(ctx, "1", "SETNX", key, me)
	c.do(ctx, "PEXPIRE", key, ttlText)
	return believe, func(ctx context.Context) (bool, error) {
		owner := c.eval(ctx, driver.NewScript("delete-any", deleteAny), key)
		return owner != "" && owner != me, c.err
	}, c.err
}

// lockExpiring does what the documentation of SET says, and nothing about work
// that takes longer than the ttl.
func lockExpiring(ctx context.Context, b *buyer, key string) (func() error, release, error) {
	const deleteOwn = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	c, me := commands{store: b.lock}, strconv.Itoa(b.number)
	c.pollUntil(ctx, "OK", "SET", key, me, "NX", "PX", ttlText)
	return believe, func(ctx context.Context) (bool, error) {
		c.eval(ctx, driver.NewScript("delete-own", deleteOwn), key, me)
		return false, c.err
	}, c.err
}

// commands sends single commands to a server, up to the first error.
type commands struct {
	store driver.Store
	err   error
}

func (c *commands) eval(ctx context.Context, script *driver.Script, key string, args ...string) string {
	if c.err != nil {
		return ""
	}
	reply, err := c.store.Eval(ctx, driver.Call{Script: script, Keys: []string{key}, Args: args})
	if c.err = err; len(reply) == 1 {
		return reply[0]
	}
	return ""
}

func (c *commands) do(ctx context.Context, command, key string, args ...string) string {
	return c.eval(ctx, connect.AnyCommand, key, append([]string{command}, args...)...)
}

func (c *commands) integer(ctx context.Context, command, key string, args ...string) int {
	return c.number(c.do(ctx, command, key, args...))
}

func (c *commands) number(reply string) (n int) {
	if c.err == nil {
		n, c.err = strconv.Atoi(reply)
	}
	return n
}

// pollUntil repeats a command until the reply is want.
func (c *commands) pollUntil(ctx context.Context, want, command, key string, args ...string) {
	for c.do(ctx, command, key, args...) != want && c.err == nil {
		c.err = pause(ctx, pollInterval)
	}
}

// counter is a Store that counts what goes through it.
type counter struct {
	driver.Store
	sent atomic.Int64
}

func (c *counter) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	c.sent.Add(1)
	return c.Store.Eval(ctx, call)
}

func (c *counter) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	c.sent.Add(int64(len(calls)))
	return c.Store.EvalAll(ctx, calls)
}

func (c *counter) Subscribe(ctx context.Context, channel string, message func(string)) (driver.Subscription, error) {
	c.sent.Add(1)
	return c.Store.Subscribe(ctx, channel, message)
}

// The way "frozen" shows what no lock can prevent: a holder is frozen between its last check
// of the lease and its write, for longer than the ttl. The next buyer buys the only piece.
// Then the first one goes on, and writes. It is played twice: with a till that accepts each
// write, and with one that checks the token.
//
// till is one key of the shop that notes a sale. It refuses a token that is older than the
// newest it has seen, and remembers it, before anything is read. The till that does not
// check is given 0 by all.
var till = driver.NewScript("till", `
local newest = redis.call('HGET', KEYS[1], 'token') or '0'
if tonumber(ARGV[1]) < tonumber(newest) then
  return redis.error_reply('STALE token ' .. ARGV[1] .. ' after ' .. newest)
end
redis.call('HSET', KEYS[1], 'token', ARGV[1])
if ARGV[2] then
  redis.call('HSET', KEYS[1], 'stock', ARGV[2])
  redis.call('HINCRBY', KEYS[1], 'sold', 1)
end
return redis.call('HGET', KEYS[1], 'stock')`)

const frozenWay = "frozen"

// begin locks, reads the stock, and checks the lease for the last time. It returns the
// function that finishes the purchase, which does not check the lease again.
func (b *buyer) begin(ctx context.Context, checked bool) (finish func(context.Context) (bought bool, err error), err error) {
	err = b.attempts(func() error {
		lease, err := b.client.Mutex(frozenWay + ":lock").Lock(ctx)
		if err != nil {
			return err
		}
		goods, key, token := commands{store: b.store}, b.sale.tillKey(checked), "0"
		if checked {
			token = strconv.FormatInt(lease.Token(), 10)
		}
		left := goods.number(goods.eval(ctx, till, key, token))
		finish = func(ctx context.Context) (bool, error) {
			if left > 0 {
				goods.eval(ctx, till, key, token, strconv.Itoa(left-1))
			}
			bought := left > 0 && goods.err == nil
			if refused, _ := errors.AsType[driver.ServerError](goods.err); strings.HasPrefix(string(refused), "STALE ") {
				goods.err = nil
			}
			return bought, errors.Join(goods.err, harmless(lease.Release()))
		}
		if err := cmp.Or(goods.err, lease.Err()); err != nil {
			return errors.Join(err, harmless(lease.Release()))
		}
		return nil
	})
	return finish, err
}

// frozenBuyer is the buyer that is frozen, a process of its own. It reads the sale as JSON
// from its stdin, and then for each purchase whether the till checks the token. It begins,
// answers on its stdout, reads that once more, finishes, and answers whether it has bought.
// It ends when stdin ends, so it does not outlive its parent.
type frozenBuyer struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	in     *json.Encoder
	out    *json.Decoder
	stderr bytes.Buffer // read only after Wait
}

// serveFrozen is what such a process does.
func serveFrozen(ctx context.Context, stdin io.Reader, stdout io.Writer) (err error) {
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	var s sale
	if err := in.Decode(&s); err != nil {
		return cli.Usagef("this command is for 'holdfast demo' only")
	}
	b, err := newBuyer(ctx, &s, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.leave()) }()
	for checked := false; in.Decode(&checked) == nil; {
		finish, err := b.begin(ctx, checked)
		if err == nil {
			err = out.Encode(false)
		}
		if err != nil || in.Decode(&checked) != nil {
			return err
		}
		bought, err := finish(ctx)
		if err != nil {
			return err
		}
		if err := out.Encode(bought); err != nil {
			return err
		}
	}
	return nil
}

// startFrozen starts this binary once more, as that buyer.
func startFrozen(s *sale) (*frozenBuyer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &frozenBuyer{cmd: exec.Command(self, "demo", "buyer")}
	f.cmd.Stderr = &f.stderr
	if f.stdin, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.in, f.out = json.NewEncoder(f.stdin), json.NewDecoder(stdout)
	if err := f.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start a buyer: %w", err)
	}
	if err := f.in.Encode(s); err != nil {
		return nil, errors.Join(err, f.leave())
	}
	return f, nil
}

// half does one half of a purchase. The end of ctx kills the process.
func (f *frozenBuyer) half(ctx context.Context, checked bool) (bought bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = f.cmd.Process.Kill() })
	defer stop()
	if err = f.in.Encode(checked); err == nil {
		err = f.out.Decode(&bought)
	}
	if err != nil && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return bought, err
}

// freeze stops the process, or lets it go on.
func (f *frozenBuyer) freeze(stop bool) error { return f.cmd.Process.Signal(freezing[stop]) }

// leave ends the process: politely, then not. Its last words are the reason of what failed.
func (f *frozenBuyer) leave() error {
	_ = f.stdin.Close()
	impatience := time.AfterFunc(cleanTimeout, func() { _ = f.cmd.Process.Kill() })
	defer impatience.Stop()
	err := f.cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && !exit.Exited() {
		return nil // killed: by us, or by the same ctrl-C
	}
	if text := bytes.TrimSpace(f.stderr.Bytes()); err != nil && len(text) > 0 {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}
