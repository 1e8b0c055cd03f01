// Package demo is 'holdfast demo': a flash sale with four kinds of locks, and a holder that
// is frozen.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
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

	buyer := &cobra.Command{
		Use:    "buyer",
		Short:  "Run one buyer of a demo, controlled by stdin",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveBuyer(cmd.Context(), a.Stdin, a.Stdout)
		},
	}
	a.Begin(buyer)
	cmd.AddCommand(buyer)
	return cmd
}

// demo plays the sale every way, on the server the flags name or on one of its
// own, and prints what happened. The environment does not choose the server:
// a demonstration must not run on a production server by accident.
func demo(ctx context.Context, a *cli.App, sale *sale, one hiring, onServer bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
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
		result, err := shop.play(ctx, way.name, buyers)
		if err != nil {
			return nil, fmt.Errorf("the sale with way %s: %w", way.name, err)
		}
		r.Ways = append(r.Ways, result)
	}
	progress("holdfast: a holder is paused")
	frozen, err := newFrozen(ctx, sale)
	if err == nil {
		defer func() { err = errors.Join(err, freeze(frozen, false), frozen.leave()) }()
		var next customer
		if next, err = newBuyer(ctx, sale, 1); err == nil {
			defer func() { err = errors.Join(err, next.leave()) }()
			r.Frozen, err = shop.playFrozen(ctx, frozen, next)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the frozen holder: %w", err)
	}
	return r, nil
}
