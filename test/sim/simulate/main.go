// Simulate plays many random runs of package sim, side by side on all cores, until
// all are played or some have failed, and says on stderr how far it is.
//
//	go run ./test/sim/simulate [-seeds N] [-first N] [-failures N] [-workers N] [-json FILE]
//	go run ./test/sim/simulate -digest [-seeds N] [-first N] [-plays N] [-o FILE] [-against FILE]
//	go run ./test/sim/simulate -digest -trace SEED [-o FILE] [-against FILE]
//
// With -digest it writes what the random runs did, as hashes, or compares them with
// those of another version. Two versions of the client that have the same digests
// for many seeds did the same in all those runs, so a refactoring can be shown to
// change nothing. A seed repeats its run to the letter, see steady.go.
//
// -digest -trace SEED writes the lines of one run, and with -against says where
// two versions part. A line is one of these, with the simulated time in front:
//
//	sent PROCESS SCRIPT ARGS          a call leaves its process
//	ran PROCESS SCRIPT KEYS ARGS = REPLY   the server has run a call
//	push PROCESS MESSAGE              the server has published a message
//	end PROCESS OPERATION: OUTCOME    what a caller was told
//
// It ends with 1 when a run failed, printed as short as it can be made and
// with the command that plays it again.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

func main() {
	var r simulation
	flag.Uint64Var(&r.seeds, "seeds", 1_000_000, "how many random runs to play")
	flag.Uint64Var(&r.first, "first", 0, "the first of them")
	flag.IntVar(&r.failures, "failures", 3, "stop when so many runs have failed")
	flag.IntVar(&r.workers, "workers", runtime.NumCPU(), "how many processes play at once")
	flag.Uint64Var(&r.batch, "batch", 200, "how many runs a process plays before it is replaced")
	out := flag.String("json", "", "write what was counted to this `file`; -: to stdout")
	var d digests
	d.flags()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	play := func() error { return r.all(ctx, *out) }
	if d.on {
		play = func() error { return d.all(ctx, &r) }
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1) //nolint:gocritic // stop only forgets the signal
	}
}

// batches are runs that several processes play side by side.
type batches struct {
	seeds, first, batch uint64
	workers             int
}

// each has every worker play batches, of n runs from first on, until all are played or
// one says that it is enough.
func (b *batches) each(ctx context.Context, play func(worker int, first, n uint64) bool) {
	var mu sync.Mutex
	next, enough := b.first, false
	take := func() (first, n uint64) {
		mu.Lock()
		defer mu.Unlock()
		if enough || ctx.Err() != nil {
			return 0, 0
		}
		first, n = next, min(b.batch, b.first+b.seeds-next)
		next += n
		return first, n
	}
	var workers sync.WaitGroup
	for i := range b.workers {
		workers.Go(func() {
			for first, n := take(); n > 0; first, n = take() {
				if !play(i, first, n) {
					mu.Lock()
					enough = true
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
}

// simulation is what this process plays.
type simulation struct {
	batches
	failures int

	dir   string
	began time.Time

	mu     sync.Mutex // protects the rest
	played uint64
	failed int
	total  sim.Tally
}

func (r *simulation) all(ctx context.Context, out string) error {
	if r.batch == 0 || r.workers < 1 || r.failures < 1 {
		return fmt.Errorf("-batch, -workers and -failures must be at least 1")
	}
	var err error
	if r.dir, err = os.MkdirTemp("", "simulate"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	if err := build(ctx, r.binary()); err != nil {
		return err
	}
	r.began = time.Now()
	progress, end := context.WithCancel(ctx)
	go r.progress(progress)
	r.each(ctx, func(worker int, first, n uint64) bool { return r.play(ctx, worker, first, n) })
	end()
	r.status()
	if err := r.write(out); err != nil {
		return err
	}
	switch {
	case r.failed > 0:
		return fmt.Errorf("%d runs failed", r.failed)
	case r.played < r.seeds:
		return fmt.Errorf("%d of %d runs were played", r.played, r.seeds)
	}
	return nil
}

// build makes the program that plays the runs.
func build(ctx context.Context, binary string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"test", "-c", "-o", binary}, flags...), "github.com/holdfast-go/holdfast/test/sim")...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building the runs: %w", err)
	}
	return nil
}

func (r *simulation) binary() string { return filepath.Join(r.dir, "sim.test") }

// play plays a batch in a process of its own: one thread plays a run. It reports
// whether others may begin.
func (r *simulation) play(ctx context.Context, worker int, first, n uint64) bool {
	summary, mark := filepath.Join(r.dir, fmt.Sprint("json", worker)), filepath.Join(r.dir, fmt.Sprint("mark", worker))
	for _, file := range []string{summary, mark} {
		_ = os.Remove(file)
	}
	cmd := exec.CommandContext(ctx, r.binary(), "-test.run", "^TestRandomRuns$", "-test.timeout", "30m", "-sim.all", "-sim.first", fmt.Sprint(first),
		"-sim.seeds", fmt.Sprint(n), "-sim.failures", fmt.Sprint(r.failures), "-sim.json", summary, "-sim.mark", mark)
	said, err := cmd.CombinedOutput()
	return ctx.Err() == nil && r.came(summary, mark, n, err, string(said))
}

// came adds what a batch counted, and tells what failed. It reports whether others may
// begin.
func (r *simulation) came(summary, mark string, n uint64, failed error, said string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var counted sim.Tally
	text, err := os.ReadFile(summary)
	if err == nil {
		err = json.Unmarshal(text, &counted)
	}
	if err == nil {
		r.played += uint64(counted.Runs)
		r.total.Add(&counted)
	}
	if failed == nil && err == nil && uint64(counted.Runs) == n {
		return true
	}
	r.failed += max(1, strings.Count(said, "to see it again"))
	fmt.Print("\n", said, "\n")
	if err != nil { // it did not end by itself
		seed, _ := os.ReadFile(mark)
		fmt.Printf("the process ended (%v) in run %s: go test ./test/sim -run '^TestRandomRuns$' -count 1 -v -args -sim.seed %s\n", failed, seed, seed)
		r.total.Broke(fmt.Sprintf("seed %s", seed), []string{fmt.Sprint("the process ended: ", failed)})
	}
	return r.failed < r.failures
}

// progress says each ten seconds how far it is.
func (r *simulation) progress(ctx context.Context) {
	for tick := time.NewTicker(10 * time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			r.status()
		}
	}
}

func (r *simulation) status() {
	r.mu.Lock()
	defer r.mu.Unlock()
	rate := float64(r.played) / time.Since(r.began).Seconds()
	left := "?"
	if rate > 0 {
		left = time.Duration(float64(r.seeds-r.played) / rate * float64(time.Second)).Round(time.Second).String()
	}
	fmt.Fprintf(os.Stderr, "%d of %d runs, %.1f/s, %s left, %d failed\n", r.played, r.seeds, rate, left, r.failed)
}

func (r *simulation) write(out string) error {
	if out == "" {
		return nil
	}
	text, err := json.MarshalIndent(struct {
		First   uint64  `json:"first"`
		Seeds   uint64  `json:"seeds"`
		Seconds float64 `json:"seconds"`
		*sim.Tally
	}{r.first, r.seeds, time.Since(r.began).Seconds(), &r.total}, "", "  ")
	if err != nil {
		return err
	}
	return save(out, append(text, '\n'))
}

// save writes to a file; -: to stdout.
func save(file string, text []byte) error {
	if file == "-" {
		_, err := os.Stdout.Write(text)
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
