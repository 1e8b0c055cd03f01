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
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// maxBuyers is the largest sale worth a terminal and a minute.
const maxBuyers = 500

// Command is 'holdfast demo'.
func Command(a *cli.App) *cobra.Command {
	var s sale
	var cmd *cobra.Command
	cmd = a.Command("demo", "Show what goes wrong without a lock", cli.NoArgs, func(ctx context.Context, _ []string) error {
		switch {
		case s.stock < 1:
			return cli.Usagef("--stock must be at least 1, not %d", s.stock)
		case s.buyers < 2 || s.buyers > maxBuyers:
			return cli.Usagef("--buyers must be 2 to %d, not %d", maxBuyers, s.buyers)
		}
		return demo(ctx, a, &s, cmd.Flags().Changed("redis"))
	})
	cmd.Flags().IntVar(&s.stock, "stock", 20, "pieces in stock")
	cmd.Flags().IntVar(&s.buyers, "buyers", 25, "buyers, each wants one piece")
	a.OutputFlag(cmd)
	return cmd
}

// demo plays the sale every way, on the server the flags name or on one of its
// own, and prints what happened. The environment does not choose the server:
// a demonstration must not run on a production server by accident.
func demo(ctx context.Context, a *cli.App, s *sale, onServer bool) (err error) {
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	if onServer {
		if s.url, _, err = a.WithPassword(a.RedisURL); err != nil {
			return err
		}
	} else {
		server, err := dev.StartEmbedded("127.0.0.1:0")
		if err != nil {
			return err
		}
		defer server.Close()
		s.url = server.URL()
	}
	r, err := s.playAll(ctx, a)
	switch {
	case ctx.Err() != nil:
		a.Say("interrupted; the demo has removed its keys")
		return cli.Exit(cli.ExitInterrupted, nil)
	case err != nil:
		return err
	}
	return a.Print(r, r.print)
}

// The sale is made of these times. A slow payment outlasts the ttl: that is the
// case the four ways differ in. All of them play the same times.
const (
	saleTTL      = 400 * time.Millisecond
	slowPayment  = 600 * time.Millisecond
	fastPayment  = 4 * time.Millisecond // and up to 3 ms more
	arrivalGap   = 3 * time.Millisecond // between a buyer and the next: less than any payment
	pollInterval = 50 * time.Millisecond

	playTimeout  = 10 * time.Minute // for a sale that does not end
	cleanTimeout = 5 * time.Second  // for what is done after ctrl-C
)

// ways are the ways to let one buyer in at a time.
var ways = []string{"none", "setnx", "expiring", "holdfast"}

// sale is what all shops share.
type sale struct {
	stock, buyers int
	url, prefix   string
	store         driver.Store // of the shops
	keys          []string     // that the demo can have made
}

// playAll plays the sale once for each way, then what happens with a frozen holder. It cleans up also
// after an error.
func (s *sale) playAll(ctx context.Context, a *cli.App) (r *report, err error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	store, err := connect.OpenStore(ctx, s.url, unhurried)
	if err != nil {
		return nil, err
	}
	s.store, s.prefix = store, "holdfast-demo:"+strings.ToLower(rand.Text()[:12])+":"
	defer func() { err = errors.Join(err, s.clean(ctx), store.Close()) }()
	buyers := make([]*buyer, s.buyers)
	for i := range buyers {
		s.keys = append(s.keys, connect.KeysBeside(s.prefix+warmUpName(i))...)
	}
	defer func() {
		err = errors.Join(err, atOnce(context.WithoutCancel(ctx), buyers, func(_ context.Context, i int) error { return buyers[i].leave() }))
	}()
	err = atOnce(ctx, buyers, func(ctx context.Context, i int) (err error) {
		buyers[i], err = newBuyer(ctx, s, i)
		return err
	})
	if err != nil {
		return nil, err
	}
	progress := func(format string, args ...any) {
		if screen := console.ScreenOf(a.Stderr); screen.Terminal && !a.Quiet {
			a.Console.Show(screen.Width, fmt.Sprintf(format, args...))
		}
	}
	defer a.Console.Clear()
	r = &report{Stock: s.stock, Buyers: s.buyers}
	for i, way := range ways {
		progress("%d buyers, %d to sell: way %d of %d, %s", s.buyers, s.stock, i+1, len(ways), way)
		result, err := s.play(ctx, &shop{name: way, stock: s.stock, gap: arrivalGap}, buyers)
		if err != nil {
			return nil, err
		}
		r.Ways = append(r.Ways, result)
	}
	progress("a holder is paused")
	for _, checks := range []bool{false, true} {
		result, err := s.playFrozen(ctx, &shop{name: "frozen", stock: 1, checks: checks}, buyers[0], buyers[1])
		if err != nil {
			return nil, err
		}
		r.Frozen = append(r.Frozen, result)
	}
	return r, nil
}

// play opens a shop, and returns when every buyer has left.
func (s *sale) play(ctx context.Context, shop *shop, buyers []*buyer) (*result, error) {
	if err := shop.open(ctx, s); err != nil {
		return nil, err
	}
	visits := make([]*visit, len(buyers))
	err := atOnce(ctx, buyers, func(ctx context.Context, i int) (err error) {
		cli.Sleep(ctx, time.Until(shop.opened.Add(time.Duration(i)*shop.gap)))
		visits[i], err = buyers[i].visit(ctx, shop, func(l lock) error {
			cli.Sleep(ctx, s.payment(int(shop.payments.Add(1))-1))
			return cmp.Or(ctx.Err(), l.Err())
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the sale %s: %w", shop.name, err)
	}
	r := newResult(shop, visits)
	r.left, err = run(ctx, s.store, connect.AnyCommand, shop.key+stockKey, "HGET", "stock")
	return r, err
}

// payment is how long payment number i takes.
func (s *sale) payment(i int) time.Duration {
	if slices.Contains(slow(s.buyers), i) {
		return slowPayment
	}
	return fastPayment + time.Duration(i%4)*time.Millisecond
}

// slow are the numbers of the payments that are slow: three of a sale, so that many buyers need not
// last minutes. They are as many in each order of buyers.
func slow(buyers int) []int {
	return slices.Compact([]int{buyers / 8, 3 * buyers / 8, 5 * buyers / 8})
}

// playFrozen shows what no lock can prevent: a holder is frozen between its last check of the lease
// and its write, for longer than the ttl. The next buyer buys the only piece. Then the first one goes
// on, and writes.
func (s *sale) playFrozen(ctx context.Context, shop *shop, holder, next *buyer) (frozenResult, error) {
	if err := shop.open(ctx, s); err != nil {
		return frozenResult{}, err
	}
	var second *visit
	var froze time.Duration
	first, err := holder.visit(ctx, shop, func(l lock) (err error) {
		if err := l.Err(); err != nil {
			return err
		}
		holder.lock.frozen.Lock() // nothing is renewed from now on
		defer holder.lock.frozen.Unlock()
		began := time.Now()
		second, err = next.visit(ctx, shop, lock.Err)
		froze = time.Since(began)
		return err
	})
	if err != nil {
		return frozenResult{}, fmt.Errorf("the frozen holder: %w", err)
	}
	both := newResult(shop, []*visit{first, second})
	return frozenResult{shop.checks, milliseconds(froze), !first.Bought, both.Sold, both.Oversold}, nil
}

// clean deletes the keys. It knows their names: a scan would read the whole database.
func (s *sale) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	return connect.DeleteKeys(ctx, s.store, s.keys)
}

// atOnce runs do for each buyer, each in a goroutine of its own, and returns when
// all are done. The first error ends the ctx of the others and is returned.
func atOnce(ctx context.Context, buyers []*buyer, do func(ctx context.Context, i int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	for i := range buyers {
		all.Go(func() error { return do(ctx, i) })
	}
	return all.Wait()
}
