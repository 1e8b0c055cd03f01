package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/sim/digest"
)

// digests is one run of -digest: it writes a hash of each story, or compares the
// hashes with those of another version. See package digest.
type digests struct {
	on                  bool
	trace               int64
	plays               int
	out, against        string
	workers             int
	first, seeds, batch uint64
	binary              string
}

func (d *digests) flags() {
	flag.BoolVar(&d.on, "digest", false, "write a line with seed and hash of each story, 2000 if -seeds is not set, instead of looking for broken promises")
	flag.StringVar(&d.out, "o", "-", "of -digest: write to this `file`; -: to stdout")
	flag.StringVar(&d.against, "against", "", "of -digest: compare with this `file`, which -digest wrote, and end with 1 if a story differs")
	flag.IntVar(&d.plays, "plays", 1, "of -digest: play each story so often; its line has each hash met, and two lines with a common hash are the same")
	flag.Int64Var(&d.trace, "trace", -1, "of -digest: write what happened in the story of this seed instead; with -against, say where it parts from that file, which -trace wrote")
}

// all runs what the flags say. r has those that both modes know.
func (d *digests) all(ctx context.Context, r *run) error {
	d.first, d.seeds, d.batch, d.workers = r.first, r.seeds, 50, r.workers
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
		fmt.Fprintf(os.Stderr, "simulate: %v: a seed may repeat its story in 97 %% of plays only; use -plays 5 in both versions\n", err)
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
	var mu sync.Mutex
	var failed error
	next, sums, told := d.first, map[uint64][]string{}, time.Now()
	take := func() (first, n uint64) {
		mu.Lock()
		defer mu.Unlock()
		if failed != nil || ctx.Err() != nil {
			return 0, 0
		}
		first, n = next, min(d.batch, d.first+d.seeds-next)
		next += n
		return first, n
	}
	var workers sync.WaitGroup
	for i := range d.workers {
		workers.Go(func() {
			file := filepath.Join(dir, fmt.Sprint("sums", i))
			for first, n := take(); n > 0; first, n = take() {
				_ = os.Remove(file)
				err := d.test(ctx, "-sim.digest", file, "-sim.plays", fmt.Sprint(d.plays), "-sim.first", fmt.Sprint(first), "-sim.seeds", fmt.Sprint(n))
				var some map[uint64][]string
				if err == nil {
					some, err = read(file)
				}
				mu.Lock()
				maps.Copy(sums, some)
				if err != nil {
					failed = err
				}
				if time.Since(told) > 10*time.Second {
					told = time.Now()
					fmt.Fprintf(os.Stderr, "%d of %d stories\n", len(sums), d.seeds)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return sums, failed
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

// sequence writes, or compares, what happened in one story.
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
		to, done, err := d.to()
		if err != nil {
			return err
		}
		defer done()
		_, err = to.Write(text)
		return err
	}
	other, err := os.ReadFile(d.against)
	if err != nil {
		return err
	}
	if part := digest.Part(strings.Split(string(text), "\n"), strings.Split(string(other), "\n")); part != "" {
		fmt.Print(part)
		return fmt.Errorf("story %d is another", d.trace)
	}
	return nil
}

func (d *digests) to() (io.Writer, func(), error) {
	if d.out == "-" {
		return os.Stdout, func() {}, nil
	}
	file, err := os.Create(d.out)
	if err != nil {
		return nil, nil, err
	}
	return file, func() { file.Close() }, nil
}

func (d *digests) write(sums map[uint64][]string) error {
	to, done, err := d.to()
	if err != nil {
		return err
	}
	defer done()
	for _, n := range slices.Sorted(maps.Keys(sums)) {
		if _, err := fmt.Fprintln(to, n, strings.Join(sums[n], " ")); err != nil {
			return err
		}
	}
	return nil
}

// compare prints the seeds whose stories have no hash in common with the other
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
	fmt.Printf("%d stories compared, %d differ\n", compared, len(differ))
	if compared == 0 {
		return fmt.Errorf("%s has none of these stories", d.against)
	}
	if len(differ) == 0 {
		return nil
	}
	for _, n := range differ {
		fmt.Println(n)
	}
	const again = "go run ./internal/lab/sim/simulate -digest -trace %d"
	return fmt.Errorf("stories differ; to see where the first does, run\n"+again+" -o FILE\nin the other version, and here\n"+again+" -against FILE", differ[0], differ[0])
}

// read reads what -digest wrote.
func read(file string) (map[uint64][]string, error) {
	from, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	sums := map[uint64][]string{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		field := strings.Fields(lines.Text())
		if len(field) < 2 {
			return nil, fmt.Errorf("%s: %q is not a seed and its hashes", file, lines.Text())
		}
		n, err := strconv.ParseUint(field[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		sums[n] = field[1:]
	}
	return sums, lines.Err()
}
