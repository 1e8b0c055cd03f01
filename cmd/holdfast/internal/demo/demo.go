// Package demo is 'holdfast demo': a flash sale with four kinds of locks, and a holder that
// is frozen.
package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
	"github.com/spf13/cobra"
)

// The largest sale worth a terminal and a minute.
const (
	maxBuyers    = 500
	maxProcesses = 100
)

// Command is 'holdfast demo'.
func Command(a *cli.App) *cobra.Command {
	var stock, buyers int
	processes := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what goes wrong without a lock",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			one, most := newBuyer, maxBuyers
			if processes {
				one, most = startBuyer, maxProcesses
			}
			switch {
			case stock < 1:
				return cli.Usagef("--stock must be at least 1, not %d", stock)
			case buyers < 2 || buyers > most:
				return cli.Usagef("--buyers must be 2 to %d, not %d", most, buyers)
			}
			return demo(cmd.Context(), a, &sale{Stock: stock, Buyers: buyers}, one, cmd.Flags().Changed("redis"))
		},
	}
	cmd.Flags().IntVar(&stock, "stock", 20, "pieces in stock")
	cmd.Flags().IntVar(&buyers, "buyers", 25, "buyers, each wants one piece")
	cmd.Flags().BoolVar(&processes, "processes", false, "run each buyer as a process of its own")
	a.OutputFlag(cmd)

	buyer := a.Command("buyer", "Run one buyer of a demo, controlled by stdin", cli.NoArgs, func(ctx context.Context, _ []string) error {
		return serveBuyer(ctx, a.Stdin, a.Stdout)
	})
	buyer.Hidden = true
	a.Begin(buyer)
	cmd.AddCommand(buyer)
	return cmd
}

// demo plays the sale every way, on the server the flags name or on one of its
// own, and prints what happened. The environment does not choose the server:
// a demonstration must not run on a production server by accident.
func demo(ctx context.Context, a *cli.App, sale *sale, one hiring, onServer bool) error {
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	sale.URL, sale.Prefix = a.RedisURL, "holdfast-demo:"+strings.ToLower(rand.Text()[:12])+":"
	if !onServer {
		server, err := dev.StartEmbedded("127.0.0.1:0")
		if err != nil {
			return err
		}
		defer server.Close()
		sale.URL = server.URL()
	}
	report, err := playAll(ctx, a, sale, one)
	if ctx.Err() != nil {
		a.Say("interrupted; the demo has removed its keys")
		return cli.Exit(cli.ExitInterrupted, nil)
	}
	if err != nil {
		return err
	}
	return a.Print(report, func(screen console.Screen) {
		report.print(screen, sale)
		printPictures(screen, report.Ways)
		printFrozen(screen, report.Frozen)
	})
}

// playAll plays the sale once for each way, and cleans up also after an error.
func playAll(ctx context.Context, a *cli.App, sale *sale, one hiring) (r *report, err error) {
	store, err := connect.OpenStoreWith(ctx, sale.URL, unhurried)
	if err != nil {
		return nil, err
	}
	shop := &shop{sale, store}
	defer func() { err = errors.Join(err, shop.close(ctx)) }()
	buyers, err := hire(ctx, sale, one)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dismiss(buyers)) }()
	progress := func(string, ...any) {}
	if screen := console.ScreenOf(a.Stderr); screen.Terminal && !a.Quiet {
		progress = func(format string, args ...any) { screen.Printf("\r\x1b[K"+format, args...) }
	}
	defer progress("")
	r = &report{Stock: sale.Stock, Buyers: sale.Buyers}
	for i, way := range ways {
		progress("holdfast: %d buyers, %d to sell: way %d of %d, %s", sale.Buyers, sale.Stock, i+1, len(ways), way.name)
		result, err := shop.play(ctx, i, buyers)
		if err != nil {
			return nil, fmt.Errorf("the sale with way %s: %w", way.name, err)
		}
		r.Ways = append(r.Ways, result)
	}
	progress("holdfast: a holder is paused")
	frozen, err := newFrozen(ctx, sale, 0)
	if err == nil {
		defer func() { err = errors.Join(err, frozen.freeze(false), frozen.leave()) }()
		r.Frozen, err = shop.playFrozen(ctx, frozen, buyers[1])
	}
	if err != nil {
		return nil, fmt.Errorf("the frozen holder: %w", err)
	}
	return r, nil
}

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
	freeze(stop bool) error // it does nothing until it is called with false
	leave() error
}

// task is what a buyer is asked to do: to visit the shop after the opening, or one half of
// the way "frozen".
type task struct {
	Sale    *sale `json:"sale,omitempty"` // of the first task of a process
	Buyer   int   `json:"buyer,omitempty"`
	Way     int   `json:"way,omitempty"`     // of ways
	Opening int64 `json:"opening,omitempty"` // Unix time, ns
	Begin   bool  `json:"begin,omitempty"`
	Checked bool  `json:"checked,omitempty"` // at the till that checks the token
	Finish  bool  `json:"finish,omitempty"`
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
func (s *shop) play(ctx context.Context, i int, buyers []customer) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	goods, way := commands{store: s.store}, ways[i].name
	goods.do(ctx, "SET", s.sale.key(way, "stock"), strconv.Itoa(s.sale.Stock))
	t := task{Way: i, Opening: time.Now().Add(openingDelay).UnixNano()}
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
	err = goods.err
	half := func(c customer, finish bool) (v *visit) { // up to the first error
		if err == nil {
			v, err = c.do(ctx, task{Begin: !finish, Checked: checked, Finish: finish})
		}
		return v
	}
	half(frozen, false)
	began := time.Now()
	err = cmp.Or(err, frozen.freeze(true))
	half(next, false) // it gets the lock when that of the frozen one has expired
	half(next, true)
	r.Froze = milliseconds(time.Since(began))
	err = cmp.Or(err, frozen.freeze(false))
	late := half(frozen, true)
	if err != nil {
		return r, err
	}
	r.TokenChecked, r.Refused, r.Sold = checked, !late.Bought, goods.integer(ctx, "HGET", key, "sold")
	r.Oversold = max(0, r.Sold-1)
	return r, goods.err
}
