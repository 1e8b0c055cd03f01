package bench

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/callers"
	"github.com/holdfast-go/holdfast/test/bench/probes"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
	"github.com/holdfast-go/holdfast/test/support/host"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Child does what its parent says, if this process was started for that.
func Child() (isChild bool, err error) {
	switch {
	case os.Getenv(callers.ChildVariable) != "":
		return true, callers.Child(os.Stdin, os.Stdout)
	case os.Getenv(probes.ChildVariable) != "":
		return true, probes.Child(os.Stdin, os.Stdout)
	}
	return false, nil
}

// runner is one run of the benchmarks.
type runner struct {
	options
	addr     string // of redis-server
	dir      string
	measured string
	programs map[string]string // this one, empty, and those of an earlier commit, by what they add to names
	talk     io.Writer
	failed   []error // rows of ours, or of limits, that are missing
}

// task is a workload or a probe.
type task struct {
	name, says string
	rounds     int
	who        []rivals.Contender
	do         func(who, program string, round int) (map[string]float64, error)
}

// tasks are those whose name matches -run, in the order in which they run.
func (r *runner) tasks() (all []task) {
	for _, w := range callers.Workloads {
		t := task{name: w.Name, says: w.Says, rounds: r.rounds, who: w.Who}
		if w.Close && r.rounds > 1 {
			t.rounds *= 2
		}
		t.do = func(who, program string, round int) (map[string]float64, error) {
			name := fmt.Sprintf("bench:%s:%s:%d", w.Name, who, round)
			return callers.Run{Workload: w.Name, Who: who, Window: r.window, Addr: r.addr, Program: program, Dir: r.dir, Name: name}.Measure()
		}
		all = append(all, t)
	}
	for _, p := range probes.Probes {
		t := task{name: p.Name, says: p.Says, rounds: min(r.rounds, p.Rounds)}
		for _, who := range p.Who {
			t.who = append(t.who, rivals.Contender{Name: who})
		}
		t.do = func(who, program string, _ int) (map[string]float64, error) {
			return probes.Measure(p.Name, who, program, r.quick)
		}
		all = append(all, t)
	}
	return slices.DeleteFunc(all, func(t task) bool { return !r.run.MatchString(t.name) })
}

// report starts the servers and gives every workload to all in turn, round after round.
func (r *runner) report(args []string) (found *report.Report, err error) {
	if r.dir, err = os.MkdirTemp("", "holdfast-bench"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.dir)
	server, err := redistest.Run(r.dir, redistest.Options{})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	r.addr = server.Addr()
	r.programs = map[string]string{"": ""}
	if r.before != "" {
		if err := r.build(); err != nil {
			return nil, err
		}
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		commit = []byte("of unknown version")
	}
	r.measured = time.Now().UTC().Format(time.DateOnly) + ", holdfast " + strings.TrimSpace(string(commit))
	return &report.Report{Measured: map[string]string{r.measured: r.conditions(args)}, Rows: r.rows()}, nil
}

// conditions say how the figures were measured.
func (r *runner) conditions(args []string) string {
	text := fmt.Sprintf("`go run ./test/bench/cmd %s`: at least %d rounds of %v. %s", strings.Join(args, " "), r.rounds, r.window, host.WithServer())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			path := strings.TrimPrefix(module.Path, "github.com/")
			if slices.Contains([]string{"go-redsync/redsync/v4", "bsm/redislock", "redis/rueidis", "redis/go-redis/v9"}, path) {
				text += ", " + path + " " + module.Version
			}
		}
	}
	if r.rounds < fullRounds || r.window < fullWindow {
		text += ". **A short run: its figures are rough**"
	}
	return strings.TrimSpace(text + ". " + r.note)
}

// rows are in the order of workloads and contenders.
func (r *runner) rows() (all []report.Row) {
	tasks, rows := r.tasks(), map[string]*report.Row{}
	for round := range 2 * r.rounds {
		for _, t := range tasks {
			if round < t.rounds {
				r.round(t, round, rows)
			}
		}
	}
	for _, t := range tasks {
		for _, c := range t.who {
			for _, version := range slices.Sorted(maps.Keys(r.programs)) {
				if row := rows[t.name+" "+c.Name+version]; row != nil {
					row.Merge()
					all = append(all, *row)
				}
			}
		}
	}
	return all
}

// round gives a workload to all who take part, in an order that the round draws. What fails is tried
// once more, and costs its row and not the figures of others.
func (r *runner) round(t task, round int, rows map[string]*report.Row) {
	versions := slices.Sorted(maps.Keys(r.programs))
	random := rand.New(rand.NewPCG(uint64(round), 0)) // the same in each run
	for _, i := range random.Perm(len(t.who) * len(versions)) {
		c, version := t.who[i/len(versions)], versions[i%len(versions)]
		who, program := c.Name+version, r.programs[version]
		if !r.who.MatchString(c.Name) || r.before != "" && !c.IsOurs() {
			continue
		}
		f, err := t.do(c.Name, program, round)
		if err != nil {
			fmt.Fprintf(r.talk, "bench: once more: %s, %s: %v\n", t.name, who, err)
			f, err = t.do(c.Name, program, round)
		}
		if err != nil {
			err = fmt.Errorf("no row of %s, %s: %w", t.name, who, err)
			fmt.Fprintf(r.talk, "bench: %v\n", err)
			if !c.IsPeer() {
				r.failed = append(r.failed, err)
			}
			continue
		}
		fmt.Fprintf(r.talk, "bench: %s round %d of %d, %s, %s\n", time.Now().Format(time.TimeOnly), round+1, t.rounds, t.name, who)
		row := rows[t.name+" "+who]
		if row == nil {
			row = &report.Row{Workload: t.name, Who: who, Measured: r.measured, Settings: c.Settings, Each: map[int]report.Figures{}}
			rows[t.name+" "+who] = row
		}
		row.Each[round] = f
	}
}

// build makes the benchmark of an earlier commit: its library, measured by the tests of the working
// tree, so that both measure the same.
func (r *runner) build() error {
	fmt.Fprintf(r.talk, "bench: building %s\n", r.before)
	const script = `set -e
root=$(git rev-parse --show-toplevel)
mkdir "$2/tree" && git -C "$root" archive "$1" | tar -x -C "$2/tree"
rm -rf "$2/tree/test" && cp -R "$root/test" "$root/go.work" "$root/go.work.sum" "$2/tree" && cd "$2/tree"
go build -buildvcs=false -o "$2/before" ./test/bench/cmd`
	cmd := exec.Command("sh", "-c", script, "sh", r.before, r.dir)
	cmd.Stderr = r.talk
	r.programs[report.Before] = filepath.Join(r.dir, "before")
	return cmd.Run()
}
