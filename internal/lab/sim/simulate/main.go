// Simulate plays many stories of package sim, side by side on all cores, until
// all are played or some have failed, and says on stderr how far it is.
//
//	go run ./internal/lab/sim/simulate [-seeds N] [-first N] [-failures N] [-workers N] [-json FILE]
//	go run ./internal/lab/sim/simulate -digest [-seeds N] [-first N] [-plays N] [-o FILE] [-against FILE]
//	go run ./internal/lab/sim/simulate -digest -trace SEED [-o FILE] [-against FILE]
//
// With -digest it writes what the stories did, as hashes, or compares them with
// those of another version: see package digest.
//
// It ends with 1 when a story failed, printed as short as it can be made and
// with the command that plays it again.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/sim"
)

func main() {
	var r run
	flag.Uint64Var(&r.seeds, "seeds", 1_000_000, "how many stories to play")
	flag.Uint64Var(&r.first, "first", 0, "the first of them")
	flag.IntVar(&r.failures, "failures", 3, "stop when so many stories have failed")
	flag.IntVar(&r.workers, "workers", runtime.NumCPU(), "how many processes play at once")
	flag.Uint64Var(&r.batch, "batch", 200, "how many stories a process plays before it is replaced")
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

// run is one run of all stories.
type run struct {
	seeds, first, batch uint64
	failures, workers   int

	dir   string
	began time.Time

	mu     sync.Mutex // guards the rest
	next   uint64     // of the seeds, the first that nobody plays
	played uint64
	failed int
	total  sim.Tally
}

func (r *run) all(ctx context.Context, out string) error {
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
	r.began, r.next = time.Now(), r.first
	progress, end := context.WithCancel(ctx)
	go r.progress(progress)
	var workers sync.WaitGroup
	for i := range r.workers {
		workers.Go(func() { r.work(ctx, i) })
	}
	workers.Wait()
	end()
	r.status(true)
	if err := r.write(out); err != nil {
		return err
	}
	switch {
	case r.failed > 0:
		return fmt.Errorf("%d stories failed", r.failed)
	case r.played < r.seeds:
		return fmt.Errorf("%d of %d stories were played", r.played, r.seeds)
	}
	return nil
}

// build makes the program that plays the stories.
func build(ctx context.Context, binary string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"test", "-c", "-o", binary}, flags...), "github.com/holdfast-go/holdfast/internal/lab/sim")...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building the stories: %w", err)
	}
	return nil
}

func (r *run) binary() string { return filepath.Join(r.dir, "sim.test") }

// take is the next batch; n is 0 when there is nothing more to do.
func (r *run) take() (first, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed >= r.failures {
		return 0, 0
	}
	first = r.next
	n = min(r.batch, r.first+r.seeds-first)
	r.next += n
	return first, n
}

// work plays batches, each in a process of its own: one thread plays a story.
func (r *run) work(ctx context.Context, worker int) {
	summary, mark := filepath.Join(r.dir, fmt.Sprint("json", worker)), filepath.Join(r.dir, fmt.Sprint("mark", worker))
	for ctx.Err() == nil {
		first, n := r.take()
		if n == 0 {
			return
		}
		for _, file := range []string{summary, mark} {
			_ = os.Remove(file)
		}
		cmd := exec.CommandContext(ctx, r.binary(), "-test.run", "^TestStories$", "-test.timeout", "30m", "-sim.all", "-sim.first", fmt.Sprint(first),
			"-sim.seeds", fmt.Sprint(n), "-sim.failures", fmt.Sprint(r.failures), "-sim.json", summary, "-sim.mark", mark)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		if ctx.Err() != nil {
			return
		}
		r.came(summary, mark, n, err, said.String())
	}
}

// came adds what a batch counted, and tells what failed.
func (r *run) came(summary, mark string, n uint64, failed error, said string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var counted sim.Tally
	text, err := os.ReadFile(summary)
	if err == nil {
		err = json.Unmarshal(text, &counted)
	}
	if err == nil {
		r.played += uint64(counted.Stories)
		r.total.Add(&counted)
	}
	if failed == nil && err == nil && uint64(counted.Stories) == n {
		return
	}
	r.failed += max(1, strings.Count(said, "to see it again"))
	fmt.Print("\n", said, "\n")
	if err != nil { // it did not end by itself
		seed, _ := os.ReadFile(mark)
		fmt.Printf("the process ended (%v) in story %s: go test ./internal/lab/sim -run '^TestStories$' -count 1 -v -args -sim.seed %s\n", failed, seed, seed)
		r.total.Broke(fmt.Sprintf("seed %s", seed), []string{fmt.Sprint("the process ended: ", failed)})
	}
}

// progress says how far it is: on a terminal each second, on the same line; else
// each ten seconds on a line of its own.
func (r *run) progress(ctx context.Context) {
	pause := 10 * time.Second
	if terminal() {
		pause = time.Second
	}
	for tick := time.NewTicker(pause); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			r.status(false)
		}
	}
}

func terminal() bool {
	info, err := os.Stderr.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (r *run) status(last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rate := float64(r.played) / time.Since(r.began).Seconds()
	left := "?"
	if rate > 0 {
		left = time.Duration(float64(r.seeds-r.played) / rate * float64(time.Second)).Round(time.Second).String()
	}
	text := fmt.Sprintf("%d of %d stories, %.1f/s, %s left, %d failed", r.played, r.seeds, rate, left, r.failed)
	switch {
	case !terminal():
		fmt.Fprintln(os.Stderr, text)
	case last:
		fmt.Fprintf(os.Stderr, "\r%s   \n", text)
	default:
		fmt.Fprintf(os.Stderr, "\r%s   ", text)
	}
}

func (r *run) write(out string) error {
	if out == "" {
		return nil
	}
	var to io.Writer = os.Stdout
	if out != "-" {
		file, err := os.Create(out)
		if err != nil {
			return err
		}
		defer file.Close()
		to = file
	}
	encode := json.NewEncoder(to)
	encode.SetIndent("", "  ")
	return encode.Encode(struct {
		First   uint64  `json:"first"`
		Seeds   uint64  `json:"seeds"`
		Seconds float64 `json:"seconds"`
		*sim.Tally
	}{r.first, r.seeds, time.Since(r.began).Seconds(), &r.total})
}
