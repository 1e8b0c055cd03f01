package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/spf13/cobra"
)

// The largest sale worth a terminal and a minute.
const (
	maxBuyers    = 500
	maxProcesses = 100
)

const demoHelp = `A flash sale: more buyers than there is stock, all at once. Each buyer tries to
buy one piece: read the stock, pay, write the stock less one, record the sale.
A few payments are slow and outlast a lock's time limit. The same sale is played
four ways:

  none      no lock
  setnx     SETNX, then EXPIRE; whoever is done deletes the key, whose ever it is
  expiring  SET NX PX; only the owner deletes the key, but nobody renews it
  holdfast  holdfast.Client.Mutex, one Client for each buyer

Nothing is made up: the goods are in Redis, and the buyers themselves watch
whether they are alone in the shop. The columns:

  sold       sales that were recorded
  oversold   sales beyond the stock
  overlaps   buyers who met another one in the shop: each adds itself to a
             counter on entering, takes itself off on leaving, and reads it
  fastest, slowest
             from arriving to leaving the shop, among those who bought
  longest wait
             from arriving to entering, among all buyers
  commands   commands that the locking sent, for each buyer who came
             (renewals included, the shop's own commands not)
  fairness   Jain's index, (Σx)²/nΣx², of x = 1/(1+o) for each of the n buyers, o
             being how many who came later (by a millisecond at least) went in
             before it: 1 is first come, first served

And what no lock can prevent, so that the token must: a holder of holdfast, a
process of its own, is frozen (SIGSTOP) between its last look at its lease and
its write, until its lock has expired and the next has bought the only piece.
Then it goes on and writes: once to a till that takes what comes, once to one
that refuses a token older than the newest it has seen.

Connections are made before the doors open. Without --redis the server is one
inside this process. With --redis all keys contain a random prefix and are
removed at the end.

-o json prints one object: stock, buyers, ways, frozen; each of the ways has way,
sold, oversold, overlaps, fastest_ms, slowest_ms, longest_wait_ms,
commands_per_buyer, fairness; each of frozen token_checked, frozen_ms, refused
(the late write was), sold, oversold.`

// demoOptions are the flags of `holdfast demo`.
type demoOptions struct {
	stock, buyers int
	processes     bool
}

func (o demoOptions) check() error {
	most := maxBuyers
	if o.processes {
		most = maxProcesses
	}
	switch {
	case o.stock < 1:
		return usagef("--stock must be at least 1, not %d", o.stock)
	case o.buyers < 2 || o.buyers > most:
		return usagef("--buyers must be 2 to %d, not %d", most, o.buyers)
	}
	return nil
}

func (a *app) demoCommand() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See what a lock is for: a flash sale, played four ways",
		Long:  demoHelp,
		Example: `  holdfast demo
  holdfast demo --processes            each buyer is a process of its own
  holdfast demo --stock 5 --buyers 40
  holdfast demo --redis redis://localhost:6379 -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.demo(cmd.Context(), o, cmd.Flags().Changed("redis"))
		},
	}
	cmd.Flags().IntVar(&o.stock, "stock", 20, "pieces there are")
	cmd.Flags().IntVar(&o.buyers, "buyers", 25, "buyers who want one each")
	cmd.Flags().BoolVar(&o.processes, "processes", false, "make each buyer a process of its own")
	a.outputFlag(cmd)

	buyer := &cobra.Command{
		Use:    "buyer",
		Short:  "Be one buyer of a demo, told by stdin what to do",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveBuyer(cmd.Context(), a.stdin, a.stdout)
		},
	}
	a.begin(buyer)
	cmd.AddCommand(buyer)
	return cmd
}

// demo plays the sale every way, on the server the flags name or on one of its
// own, and prints what happened. The environment does not choose the server:
// a demonstration must not start on somebody's production by accident.
func (a *app) demo(ctx context.Context, o demoOptions, onServer bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	serverURL := a.redisURL
	if !onServer {
		server, err := startEmbedded("127.0.0.1:0")
		if err != nil {
			return err
		}
		defer server.Close()
		serverURL = server.URL()
	}
	sale := newSale(serverURL, "holdfast-demo:"+strings.ToLower(rand.Text()[:12])+":", o)
	results, frozen, err := a.playAll(ctx, sale, o.processes)
	if ctx.Err() != nil {
		a.say("interrupted; the demo has cleaned up behind itself")
		return &exitError{code: exitInterrupted}
	}
	if err != nil {
		return err
	}
	if a.output == "json" {
		return printJSON(a.stdout, newReport(sale, results, frozen))
	}
	screen := screenOf(a.stdout)
	printTable(screen, sale, results)
	printPictures(screen, results)
	printFrozen(screen, frozen)
	return nil
}

// playAll plays the sale once for each way and cleans up, whatever happened.
func (a *app) playAll(ctx context.Context, sale *sale, processes bool) (results []*result, frozen []frozenResult, err error) {
	shop, err := openShop(ctx, sale)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, shop.removeAll(ctx), shop.close()) }()
	buyers, err := hire(ctx, sale, processes)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, dismiss(buyers)) }()
	progress := screenOf(a.stderr)
	shown := progress.terminal && !a.quiet
	if shown {
		defer progress.printf("\r\x1b[K")
	}
	for i, way := range ways {
		if shown {
			progress.printf("\r\x1b[Kholdfast: %d buyers, %d to sell: way %d of %d, %s", sale.Buyers, sale.Stock, i+1, len(ways), way.name)
		}
		visits, err := shop.play(ctx, way.name, buyers)
		if err != nil {
			return nil, nil, fmt.Errorf("the sale with way %s: %w", way.name, err)
		}
		sold, left, err := shop.books(ctx, way.name)
		if err != nil {
			return nil, nil, err
		}
		results = append(results, newResult(sale, way, visits, sold, left))
	}
	if shown {
		progress.printf("\r\x1b[Kholdfast: a holder stands still")
	}
	if frozen, err = shop.playFrozen(ctx); err != nil {
		return nil, nil, fmt.Errorf("the frozen holder: %w", err)
	}
	return results, frozen, nil
}

// startEmbedded starts a server inside this process.
func startEmbedded(address string) (*embedded.Store, error) {
	server, err := embedded.Open(nil)
	if err != nil {
		return nil, err
	}
	if _, err := server.Listen(address); err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}
