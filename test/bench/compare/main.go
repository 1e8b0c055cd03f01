// Compare measures how much slower or faster the client has become since another
// commit, without a server: local turns, lock and release, a pushed grant, a
// renewal.
//
//	make bench-compare REV=<commit>
//	go run ./test/bench/compare [-rev COMMIT] [-sittings N] [-rounds N]
//
// It builds program rounds for the commit, which is 7730dd3 or a later one, and for
// the working tree. In a sitting it starts the commit's program twice and the
// tree's once, all on one processor, and lets them measure short rounds in turn. Of
// each program the round with the least processor time counts, and of the sittings
// the median. The ratio of the commit to itself shows how far to trust the
// other: what differs by less is noise. Processes of one program differ by a few
// percent, by where their memory lies, so many sittings tell more than many rounds.
// Where the compiler places code may alone change a ratio by a percent or two, and
// no repetition shows that.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

var workloads = []string{"turns of 64 callers (B3)", "turns of 1 caller (B7)", "lock and release", "a pushed grant", "a renewal"}

const rounds = "test/bench/compare/rounds"

func main() {
	rev := flag.String("rev", "HEAD", "compare the working tree with this `commit`")
	sittings := flag.Int("sittings", 60, "how often to start the programs")
	each := flag.Int("rounds", 4, "how many rounds each measures of a workload in a sitting")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, *rev, *sittings, *each); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1) //nolint:gocritic // stop only forgets the signal
	}
}

func compare(ctx context.Context, rev string, sittings, each int) error {
	root, err := output(ctx, "", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(os.Stderr, "building %s and the working tree\n", rev)
	before, again, after := filepath.Join(dir, "before"), filepath.Join(dir, "again"), filepath.Join(dir, "after")
	if err := build(ctx, root, after); err != nil {
		return err
	}
	tree := filepath.Join(dir, "tree")
	if err := unpack(ctx, root, rev, tree); err != nil {
		return err
	}
	if err := build(ctx, tree, before); err != nil {
		return err
	}
	if err := build(ctx, tree, again); err != nil { // a file of its own, so that it shares no memory either
		return err
	}
	table, err := measure(ctx, []string{before, again, after}, workloads, sittings, each)
	if err != nil {
		return err
	}
	table.print(os.Stdout, rev)
	return nil
}

func output(ctx context.Context, dir, command string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%s: %w\n%s", cmd, err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

func build(ctx context.Context, tree, binary string) error {
	_, err := output(ctx, tree, "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./"+rounds)
	return err
}

// unpack writes the files of a commit to dir, with the rounds of the working tree,
// so that both measure the same.
func unpack(ctx context.Context, root, rev, dir string) error {
	files, err := output(ctx, root, "git", "archive", "--format=tar", "-o", dir+".tar", rev)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		files, err = output(ctx, dir, "tar", "-xf", dir+".tar")
	}
	if err != nil {
		return fmt.Errorf("%w %s", err, files)
	}
	if err := os.RemoveAll(filepath.Join(dir, rounds)); err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(dir, rounds), os.DirFS(filepath.Join(root, rounds)))
}

// cost is what an operation took.
type cost struct{ ns, mallocs float64 }

// program is one that runs.
type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(ctx context.Context, binary string) (*program, error) {
	cmd := exec.CommandContext(ctx, binary)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &program{cmd, in, bufio.NewReader(out)}, onOneProcessor(cmd.Start)
}

func (p *program) round(workload string) (c cost, err error) {
	if _, err := fmt.Fprintln(p.in, workload); err != nil {
		return c, err
	}
	_, err = fmt.Fscanln(p.out, &c.ns, &c.mallocs)
	return c, err
}

func (p *program) end() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// table has the costs of each workload, of each program, of each sitting.
type table map[string][][]cost

func measure(ctx context.Context, binaries, workloads []string, sittings, rounds int) (table, error) {
	t := table{}
	for _, w := range workloads {
		t[w] = make([][]cost, len(binaries))
	}
	for s := range sittings {
		if s%10 == 0 {
			fmt.Fprintf(os.Stderr, "sitting %d of %d\n", s+1, sittings)
		}
		if err := t.sit(ctx, binaries, workloads, rounds, s); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t table) sit(ctx context.Context, binaries, workloads []string, rounds, turn int) (err error) {
	programs := make([]*program, len(binaries))
	for i := range programs {
		i = (i + turn) % len(programs)
		if programs[i], err = start(ctx, binaries[i]); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, programs[i].end()) }()
	}
	for _, w := range workloads {
		best := make([]cost, len(programs))
		for r := range rounds {
			for _, i := range rand.Perm(len(programs)) { // none always runs behind the same one
				c, err := programs[i].round(w)
				if err != nil {
					return fmt.Errorf("%s: %w", w, err)
				}
				if r == 0 || c.ns < best[i].ns {
					best[i] = c
				}
			}
		}
		for i, c := range best {
			t[w][i] = append(t[w][i], c)
		}
	}
	return nil
}

// ratio is the median of the sittings' ratios of one program to the mean of others,
// and how far the median of another run is likely to differ: 0.93 of the distance
// between the quartiles, over the root of the number of sittings.
func ratio(of []cost, to ...[]cost) (median, spread float64) {
	ratios := make([]float64, len(of))
	for i := range of {
		sum := 0.0
		for _, costs := range to {
			sum += costs[i].ns
		}
		ratios[i] = of[i].ns * float64(len(to)) / sum
	}
	slices.Sort(ratios)
	n := len(ratios)
	return middle(ratios), 0.93 * (ratios[n-1-n/4] - ratios[n/4]) / math.Sqrt(float64(n))
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func (t table) print(to io.Writer, rev string) {
	of := func(costs []cost, what func(cost) float64) float64 {
		figures := make([]float64, len(costs))
		for i, c := range costs {
			figures[i] = what(c)
		}
		slices.Sort(figures)
		return middle(figures)
	}
	ns, mallocs := func(c cost) float64 { return c.ns }, func(c cost) float64 { return c.mallocs }
	fmt.Fprintf(to, "%-26s %10s %10s   %-18s %-18s %s\n", "processor time", rev+", ns", "tree, ns", "tree/"+rev, rev+"/itself", "allocations")
	for _, w := range workloads {
		if t[w] == nil {
			continue
		}
		before, again, after := t[w][0], t[w][1], t[w][2]
		changed, spread := ratio(after, before, again)
		itself, noise := ratio(again, before)
		fmt.Fprintf(to, "%-26s %10.0f %10.0f   %.3f ± %.3f      %.3f ± %.3f      %.1f -> %.1f\n", w, of(before, ns), of(after, ns), changed, spread, itself, noise, of(before, mallocs), of(after, mallocs))
	}
}
