package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// digests is one run of -digest: it writes a hash of each run, or compares the
// hashes with those of another version.
type digests struct {
	batches
	on           bool
	trace        int64
	plays        int
	out, against string
	binary       string
}

func (d *digests) flags() {
	flag.BoolVar(&d.on, "digest", false, "write a line with seed and hash of each run, 2000 if -seeds is not set, instead of looking for broken promises")
	flag.StringVar(&d.out, "o", "-", "of -digest: write to this `file`; -: to stdout")
	flag.StringVar(&d.against, "against", "", "of -digest: compare with this `file`, which -digest wrote, and end with 1 if a run differs")
	flag.IntVar(&d.plays, "plays", 1, "of -digest: play each run so often; its line has each hash met, and two lines with a common hash are the same")
	flag.Int64Var(&d.trace, "trace", -1, "of -digest: write what happened in the run of this seed instead; with -against, say where it parts from that file, which -trace wrote")
}

// all runs what the flags say. r has those that both modes know.
func (d *digests) all(ctx context.Context, r *simulation) error {
	d.batches = r.batches
	d.batch = 50
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["seeds"] {
		d.seeds = 2000
	}
	dir, err := os.MkdirTemp("", "simulate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d.binary = filepath.Join(dir, "sim.test")
	var flags []string
	if overlay, err := steady(dir); err == nil {
		flags = []string{"-overlay", overlay}
	} else {
		fmt.Fprintf(os.Stderr, "simulate: %v: a seed may repeat its run in 97 %% of plays only; use -plays 5 in both versions\n", err)
	}
	if err := build(ctx, d.binary, flags...); err != nil {
		return err
	}
	if d.trace >= 0 {
		return d.sequence(ctx, dir)
	}
	sums, err := d.play(ctx, dir)
	if err != nil {
		return err
	}
	if d.against == "" || d.out != "-" {
		if err := d.write(sums); err != nil {
			return err
		}
	}
	if d.against == "" {
		return nil
	}
	return d.compare(sums)
}

// play returns the hashes of each seed.
func (d *digests) play(ctx context.Context, dir string) (map[uint64][]string, error) {
	var mu sync.Mutex // protects the rest
	var failed error
	sums, told := map[uint64][]string{}, time.Now()
	d.each(ctx, func(worker int, first, n uint64) bool {
		file := filepath.Join(dir, fmt.Sprint("sums", worker))
		_ = os.Remove(file)
		err := d.test(ctx, "-sim.digest", file, "-sim.plays", fmt.Sprint(d.plays), "-sim.first", fmt.Sprint(first), "-sim.seeds", fmt.Sprint(n))
		var some map[uint64][]string
		if err == nil {
			some, err = read(file)
		}
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(sums, some)
		failed = cmp.Or(failed, err)
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d runs\n", len(sums), d.seeds)
		}
		return err == nil
	})
	return sums, cmp.Or(failed, ctx.Err())
}

// test runs TestDigest. Goroutines that run for long are not interrupted, so that
// their order is the same each time.
func (d *digests) test(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, d.binary, append([]string{"-test.run", "^TestDigest$", "-test.timeout", "1h"}, args...)...)
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("playing: %w\n%s", err, said)
	}
	return nil
}

// sequence writes, or compares, what happened in one run.
func (d *digests) sequence(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "trace")
	if err := d.test(ctx, "-sim.trace", file, "-sim.first", fmt.Sprint(d.trace)); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if d.against == "" {
		return save(d.out, text)
	}
	other, err := os.ReadFile(d.against)
	if err != nil {
		return err
	}
	if part := parting(strings.Split(string(text), "\n"), strings.Split(string(other), "\n")); part != "" {
		fmt.Print(part)
		return fmt.Errorf("run %d is another", d.trace)
	}
	return nil
}

// parting says where two sequences part, with some lines before, or "" if they are
// the same.
func parting(one, other []string) string {
	i := 0
	for i < len(one) && i < len(other) && one[i] == other[i] {
		i++
	}
	if i == len(one) && i == len(other) {
		return ""
	}
	var b strings.Builder
	for _, same := range one[max(0, i-5):i] {
		fmt.Fprintln(&b, "  ", same)
	}
	next := func(mark string, lines []string) {
		for _, text := range lines[min(i, len(lines)):min(i+3, len(lines))] {
			fmt.Fprintln(&b, mark, text)
		}
	}
	next("- ", other)
	next("+ ", one)
	return b.String()
}

func (d *digests) write(sums map[uint64][]string) error {
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintln(&b, n, strings.Join(sums[n], " "))
	}
	return save(d.out, []byte(b.String()))
}

// compare prints the seeds whose runs have no hash in common with the other
// version's.
func (d *digests) compare(sums map[uint64][]string) error {
	other, err := read(d.against)
	if err != nil {
		return err
	}
	compared, differ := 0, []uint64{}
	for _, n := range slices.Sorted(maps.Keys(sums)) {
		before, ok := other[n]
		if !ok {
			continue
		}
		compared++
		if !slices.ContainsFunc(sums[n], func(sum string) bool { return slices.Contains(before, sum) }) {
			differ = append(differ, n)
		}
	}
	fmt.Printf("%d runs compared, %d differ\n", compared, len(differ))
	if compared == 0 {
		return fmt.Errorf("%s has none of these runs", d.against)
	}
	if len(differ) == 0 {
		return nil
	}
	for _, n := range differ {
		fmt.Println(n)
	}
	const again = "go run ./test/sim/simulate -digest -trace %d"
	return fmt.Errorf("runs differ; to see where the first does, run\n"+again+" -o FILE\nin the other version, and here\n"+again+" -against FILE", differ[0], differ[0])
}

// read reads what -digest wrote.
func read(file string) (map[uint64][]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sums := map[uint64][]string{}
	for line := range strings.Lines(string(text)) {
		field := strings.Fields(line)
		if len(field) < 2 {
			return nil, fmt.Errorf("%s: %q is not a seed and its hashes", file, line)
		}
		n, err := strconv.ParseUint(field[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		sums[n] = field[1:]
	}
	return sums, nil
}
