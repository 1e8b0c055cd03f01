// Package demo is 'holdfast demo': a flash sale with four kinds of locks, and a holder that
// is frozen.
package demo

import (
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

// maxBuyers is the largest sale worth a terminal and a minute.
const maxBuyers = 500

// Command is 'holdfast demo'.
func Command(a *cli.App) *cobra.Command {
	var stock, buyers int
	var cmd *cobra.Command
	cmd = a.Command("demo", "Show what goes wrong without a lock", cli.NoArgs, func(ctx context.Context, _ []string) error {
		switch {
		case stock < 1:
			return cli.Usagef("--stock must be at least 1, not %d", stock)
		case buyers < 2 || buyers > maxBuyers:
			return cli.Usagef("--buyers must be 2 to %d, not %d", maxBuyers, buyers)
		}
		return demo(ctx, a, &sale{Stock: stock, Buyers: buyers}, cmd.Flags().Changed("redis"))
	})
	cmd.Flags().IntVar(&stock, "stock", 20, "pieces in stock")
	cmd.Flags().IntVar(&buyers, "buyers", 25, "buyers, each wants one piece")
	a.OutputFlag(cmd)

	buyer := a.Command("buyer", "Run the buyer that is frozen, controlled by stdin", cli.NoArgs, func(ctx context.Context, _ []string) error {
		return serveFrozen(ctx, a.Stdin, a.Stdout)
	})
	buyer.Hidden = true
	a.Begin(buyer)
	cmd.AddCommand(buyer)
	return cmd
}

// demo plays the sale every way, on the server the flags name or on one of its
// own, and prints what happened. The environment does not choose the server:
// a demonstration must not run on a production server by accident.
func demo(ctx context.Context, a *cli.App, sale *sale, onServer bool) error {
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	sale.URL, sale.Prefix = a.RedisURL, "holdfast-demo:"+strings.ToLower(rand.Text()[:12])+":"
	if onServer {
		var err error
		if sale.URL, _, err = a.WithPassword(a.RedisURL); err != nil {
			return err
		}
	} else {
		server, err := dev.StartEmbedded("127.0.0.1:0")
		if err != nil {
			return err
		}
		defer server.Close()
		sale.URL = server.URL()
	}
	report, err := playAll(ctx, a, sale)
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
func playAll(ctx context.Context, a *cli.App, sale *sale) (r *report, err error) {
	store, err := connect.OpenStore(ctx, sale.URL, unhurried)
	if err != nil {
		return nil, err
	}
	shop := &shop{sale, store}
	defer func() { err = errors.Join(err, shop.close(ctx)) }()
	buyers, err := hire(ctx, sale)
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
		result, err := shop.play(ctx, way, buyers)
		if err != nil {
			return nil, fmt.Errorf("the sale with way %s: %w", way.name, err)
		}
		r.Ways = append(r.Ways, result)
	}
	progress("holdfast: a holder is paused")
	if r.Frozen, err = shop.playFrozen(ctx, buyers[1]); err != nil {
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

	playTimeout  = 2 * time.Minute // for a sale that does not end
	cleanTimeout = 5 * time.Second // for what is done after ctrl-C
)

// unhurried waits longer for an answer than a service would: buyers, shop and server
// may share one busy machine. The locking has times of its own.
var unhurried = &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) { o.ConnWriteTimeout = 30 * time.Second }}

// sale is the data that all buyers share. The process that is frozen gets it as JSON, by a
// pipe: URL may contain a password.
type sale struct {
	URL, Prefix   string
	Stock, Buyers int
}

// key is where the sale of one way keeps a thing in Redis.
func (s *sale) key(way, thing string) string { return s.Prefix + way + ":" + thing }

func (s *sale) tillKey(checked bool) string {
	return s.key(frozenWay, "till-"+strconv.FormatBool(checked))
}

// payment is how long payment number i takes. The same number of payments is slow in each order of buyers.
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

// visit is what one buyer saw and did. Times count from the opening.
type visit struct {
	Arrived, Entered, Left time.Duration

	Met      bool  // another buyer was inside too
	Bought   bool  // false: nothing was left
	Commands int64 // sent by the locking
	Foreign  bool  // deleted a lock that was another buyer's
}

// shop is the side of the sale that sets out the stock and counts afterwards.
type shop struct {
	sale  *sale
	store *rueidisstore.Store
}

// hire makes the buyers of a sale ready, all at once.
func hire(ctx context.Context, s *sale) ([]*buyer, error) {
	buyers := make([]*buyer, s.Buyers)
	err := atOnce(ctx, s.Buyers, func(ctx context.Context, i int) (err error) {
		buyers[i], err = newBuyer(ctx, s, i)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, dismiss(buyers))
	}
	return buyers, nil
}

// dismiss sends the buyers home. Those that were never hired are nil.
func dismiss(buyers []*buyer) error {
	buyers = slices.DeleteFunc(buyers, func(b *buyer) bool { return b == nil })
	return atOnce(context.Background(), len(buyers), func(_ context.Context, i int) error { return buyers[i].leave() })
}

// play sets out the stock, opens, and returns when every buyer has left.
func (s *shop) play(ctx context.Context, way way, buyers []*buyer) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	goods, stock := commands{store: s.store}, s.sale.key(way.name, "stock")
	goods.do(ctx, "SET", stock, strconv.Itoa(s.sale.Stock))
	opening := time.Now()
	visits := make([]*visit, len(buyers))
	err := atOnce(ctx, len(buyers), func(ctx context.Context, i int) (err error) {
		visits[i], err = buyers[i].visit(ctx, way, opening)
		return err
	})
	if err != nil || goods.err != nil {
		return nil, errors.Join(err, goods.err)
	}
	sold, left := goods.integer(ctx, "LLEN", s.sale.key(way.name, "sales")), goods.integer(ctx, "GET", stock)
	return newResult(s.sale, way.name, visits, sold, left), goods.err
}

// close deletes each key that the demo can have made. It names them, because a scan
// would read the whole database.
func (s *shop) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	keys := slices.Concat([]string{s.sale.tillKey(false), s.sale.tillKey(true)}, connect.KeysBeside(s.sale.key(frozenWay, "lock")))
	for _, way := range ways {
		keys = append(keys, s.sale.key(way.name, "stock"), s.sale.key(way.name, "sales"), s.sale.key(way.name, "inside"), s.sale.key(way.name, "payments"))
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

// playFrozen plays both: next is the buyer that comes after the frozen one. Where no process
// can be frozen it plays none.
func (s *shop) playFrozen(ctx context.Context, next *buyer) (results []frozenResult, err error) {
	if freezing == nil {
		return []frozenResult{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	frozen, err := startFrozen(s.sale)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, frozen.freeze(false), frozen.leave()) }()
	for _, checked := range []bool{false, true} {
		r, err := s.freezeOne(ctx, frozen, next, checked)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (s *shop) freezeOne(ctx context.Context, frozen *frozenBuyer, next *buyer, checked bool) (r frozenResult, err error) {
	key, goods := s.sale.tillKey(checked), commands{store: s.store}
	goods.do(ctx, "HSET", key, "stock", "1")
	if _, err = frozen.half(ctx, checked); err != nil {
		return r, errors.Join(goods.err, err)
	}
	began := time.Now()
	if err := frozen.freeze(true); err != nil {
		return r, err
	}
	finish, err := next.begin(ctx, checked) // it gets the lock when that of the frozen one has expired
	if err == nil {
		_, err = finish(ctx)
	}
	r.Froze = milliseconds(time.Since(began))
	if err = errors.Join(err, frozen.freeze(false)); err != nil {
		return r, err
	}
	late, err := frozen.half(ctx, checked)
	r.TokenChecked, r.Refused, r.Sold = checked, !late, goods.integer(ctx, "HGET", key, "sold")
	r.Oversold = max(0, r.Sold-1)
	return r, errors.Join(err, goods.err)
}
