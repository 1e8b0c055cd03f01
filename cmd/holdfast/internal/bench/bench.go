// Package bench is 'holdfast bench': it measures what locks cost on a server.
package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/cobra"
)

const (
	defaultBench = 3 * time.Second
	maxBench     = time.Minute
	benchTTL     = 10 * time.Second
	benchCleanup = 5 * time.Second
)

// Command is 'holdfast bench'.
func Command(a *cli.App) *cobra.Command {
	var each time.Duration
	cmd := a.Command("bench", "Measure the latency of locks on your server", cli.NoArgs, func(ctx context.Context, _ []string) error {
		if each < 100*time.Millisecond || each > maxBench {
			return cli.Usagef("--duration is %v: it must be from 100ms to %v", each, console.Age(maxBench))
		}
		return bench(ctx, a, each)
	})
	cmd.Flags().DurationVarP(&each, "duration", "d", defaultBench, "time per measure")
	a.OutputFlag(cmd)
	return cmd
}

// bench measures, prints, and deletes what it made.
func bench(ctx context.Context, a *cli.App, each time.Duration) (err error) {
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	first, err := connect.Open(ctx, a, holdfast.Options{TTL: benchTTL})
	if err != nil {
		return err
	}
	defer first.Close()
	second, err := connect.Open(ctx, a, holdfast.Options{TTL: benchTTL})
	if err != nil {
		return err
	}
	defer second.Close()
	b := &benchmark{ctx: ctx, each: each, first: first, second: second, name: "bench-" + randomText()}
	defer func() { err = errors.Join(err, removeBench(a, b)) }()
	a.Say("loading %s for about %s, with the name %s", cli.PublicURL(a.RedisURL), console.Age(3*each), b.name)
	for _, measure := range []func() error{b.roundTrip, b.lockAndRelease, b.handOver} {
		if err := measure(); ctx.Err() != nil {
			return cli.Exit(cli.ExitInterrupted, nil)
		} else if err != nil {
			return err
		}
	}
	return a.Print(resultJSON{cli.PublicURL(a.RedisURL), cli.ThisBuild().Version, each.Milliseconds(), b.measures}, b.print)
}

// removeBench deletes the keys of the benchmark, by the table in docs/protocol.md. It
// names them, because a scan would read the whole database.
func removeBench(a *cli.App, b *benchmark) error {
	ctx, cancel := context.WithTimeout(context.Background(), benchCleanup)
	defer cancel()
	if err := connect.DeleteKeys(ctx, b.first.Store, connect.KeysBeside(a.KeyPrefix()+b.name)); err != nil {
		return fmt.Errorf("the keys of %s could not be deleted, they expire within a day: %w", b.name, err)
	}
	return nil
}

// benchmark is one measurement in the making.
type benchmark struct {
	ctx           context.Context //nolint:containedctx // it lives as long as the command
	each          time.Duration
	first, second *connect.Session
	name          string
	measures      []measure
}

// repeat calls once until the time is up; what it returns is thrown away in the
// first tenth.
func (b *benchmark) repeat(once func() ([]time.Duration, error), names ...string) error {
	samples := make([][]time.Duration, len(names))
	began := time.Now()
	for warm := false; time.Since(began) < b.each || len(samples[0]) == 0; {
		took, err := once()
		if err != nil {
			return err
		}
		for i := range took {
			if warm {
				samples[i] = append(samples[i], took[i])
			}
		}
		warm = warm || time.Since(began) > b.each/10
	}
	for i, name := range names {
		b.measures = append(b.measures, newMeasure(name, samples[i]))
	}
	return nil
}

func (b *benchmark) roundTrip() error {
	return b.repeat(func() ([]time.Duration, error) {
		sent := time.Now()
		_, err := b.first.Admin.Inspect(b.ctx, b.name)
		return []time.Duration{time.Since(sent)}, err
	}, "round trip")
}

func (b *benchmark) lockAndRelease() error {
	mutex := b.first.Mutex(b.name)
	return b.repeat(func() ([]time.Duration, error) {
		asked := time.Now()
		lease, err := mutex.Lock(b.ctx)
		if err != nil {
			return nil, err
		}
		granted := time.Now()
		err = lease.Release()
		over := time.Now()
		return []time.Duration{granted.Sub(asked), over.Sub(granted), over.Sub(asked)}, err
	}, "lock", "release", "both")
}

// handOver lets the two clients pass the name to each other and back.
func (b *benchmark) handOver() error {
	holder, waiter := b.first, b.second
	lease, err := holder.Mutex(b.name).Lock(b.ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lease.Release() }() // again changes nothing
	return b.repeat(func() ([]time.Duration, error) {
		next := make(chan handed, 1)
		go func() {
			lease, err := waiter.Mutex(b.name).Lock(b.ctx)
			next <- handed{lease, err, time.Now()}
		}()
		if err := b.awaitWaiter(holder, next); err != nil {
			return nil, err
		}
		gave := time.Now()
		if err := lease.Release(); err != nil {
			return nil, err
		}
		got := <-next
		if got.err != nil {
			return nil, got.err
		}
		lease, holder, waiter = got.lease, waiter, holder
		return []time.Duration{got.at.Sub(gave)}, nil
	}, "hand-over")
}

type handed struct {
	lease *holdfast.Lease
	err   error
	at    time.Time
}

// awaitWaiter returns when a waiter is in the queue and can be notified.
func (b *benchmark) awaitWaiter(client *connect.Session, next <-chan handed) error {
	for {
		state, err := client.Admin.Inspect(b.ctx, b.name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(state.Waiters, func(w admin.Waiter) bool { return w.Listening }) {
			return nil
		}
		select {
		case got := <-next: // not before its release
			return errors.Join(errors.New("bench: the waiter got the name before its holder released it"), got.err)
		case <-b.ctx.Done():
			return b.ctx.Err()
		default:
		}
	}
}

// measure is what came of one measurement, as -o json prints it. Its names are promised.
type measure struct {
	Name    string        `json:"name"`
	Samples int           `json:"samples"`
	Min     microseconds  `json:"min_us"`
	P50     microseconds  `json:"p50_us"`
	P90     microseconds  `json:"p90_us"`
	P99     *microseconds `json:"p99_us"` // nil: too few samples for one that is not the largest
	Max     microseconds  `json:"max_us"`
	Mean    microseconds  `json:"mean_us"`
}

func newMeasure(name string, samples []time.Duration) measure {
	slices.Sort(samples)
	n, sum := len(samples), time.Duration(0)
	for _, s := range samples {
		sum += s
	}
	percentile := func(p int) microseconds { return microseconds(samples[max(0, (n*p+99)/100-1)]) }
	m := measure{
		Name: name, Samples: n, Min: percentile(0), P50: percentile(50), P90: percentile(90), Max: percentile(100),
		Mean: microseconds(sum / time.Duration(n)),
	}
	if n >= 100 {
		m.P99 = new(percentile(99))
	}
	return m
}

// microseconds is a duration that JSON shows in µs, and a table with three digits that
// count.
type microseconds time.Duration

// MarshalJSON implements json.Marshaler.
func (u microseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(u) / float64(time.Microsecond))
}

func (u microseconds) String() string {
	switch d := time.Duration(u); {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(10 * time.Millisecond).String()
	}
}

// resultJSON is what -o json prints. Its names are promised.
type resultJSON struct {
	Server     string    `json:"server"`
	Version    string    `json:"version"`
	DurationMS int64     `json:"duration_ms"`
	Measures   []measure `json:"measures"`
}

func (b *benchmark) print(s console.Screen) {
	rows := [][]string{{"", "SAMPLES", "MIN", "P50", "P90", "P99", "MAX"}}
	for _, m := range b.measures {
		p99 := "-"
		if m.P99 != nil {
			p99 = m.P99.String()
		}
		rows = append(rows, []string{m.Name, fmt.Sprint(m.Samples), m.Min.String(), m.P50.String(), m.P90.String(), p99, m.Max.String()})
	}
	console.PrintTable(s, rows)
}

// randomText is for a name that no other process uses.
func randomText() string { return strings.ToLower(rand.Text()[:12]) }
