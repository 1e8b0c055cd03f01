package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// runner is one run of the benchmarks.
type runner struct {
	settings settings
	run, who *regexp.Regexp // nil: all
	server   *redistest.Server
	etcd     *etcdServer // nil: there is none
	dir      string
	talk     io.Writer
	failed   []error // cells of ours, or of limits, without a row
}

// report starts the servers, gives every workload to all in turn, round after
// round, and tells talk how far it is.
func (r *runner) report(serverPath, command string) (Report, error) {
	report := newReport(r.settings, command)
	var err error
	if r.dir, err = os.MkdirTemp("", "holdfast-bench"); err != nil {
		return report, err
	}
	defer os.RemoveAll(r.dir)
	if err := use(serverPath, r.dir); err != nil {
		return report, err
	}
	if r.server, err = redistest.Run(r.dir, redistest.Options{}); err != nil {
		return report, err
	}
	defer r.server.Close()
	if r.etcd, err = startEtcd(r.dir); err != nil {
		return report, err
	}
	defer r.etcd.close()
	if report.Versions["server"], err = serverVersion(r.server); err != nil {
		return report, err
	}
	if r.etcd != nil {
		report.Versions["etcd"] = r.etcd.version
	} else {
		fmt.Fprintln(r.talk, "bench: no row of etcd: etcd is not in PATH (Debian: apt-get install etcd-server)")
	}
	report.Rows = r.rounds()
	return report, nil
}

// rounds returns the rows in the order of workloads and contenders.
func (r *runner) rounds() []Row {
	type key struct{ workload, who string }
	rows, numbers := map[key][]Row{}, map[key][]int{}
	for round := range 2 * r.settings.rounds {
		for _, w := range allWorkloads() {
			if round >= r.settings.of(w) {
				continue
			}
			for _, row := range r.inTurn(w, round) {
				k := key{row.Workload, row.Who}
				rows[k], numbers[k] = append(rows[k], row), append(numbers[k], round)
			}
		}
	}
	var all []Row
	for _, w := range allWorkloads() {
		for _, c := range takePart(w) {
			k := key{w.name, c.who}
			if len(rows[k]) > 0 {
				all = append(all, merge(rows[k], numbers[k]))
			}
		}
	}
	return all
}

// inTurn gives a workload to all who run it, in an order that the round draws. A cell
// that fails is tried once more, and costs its row and not the figures of others.
func (r *runner) inTurn(w workload, round int) []Row {
	if r.run != nil && !r.run.MatchString(w.name) {
		return nil
	}
	var rows []Row
	turn := takePart(w)
	for _, i := range rand.New(rand.NewPCG(uint64(round), 0)).Perm(len(turn)) { // the same in each run
		c := turn[i]
		if r.who != nil && !r.who.MatchString(c.who) || c.who == "etcd" && r.etcd == nil {
			continue
		}
		row, err := r.cell(w, c, round).run()
		if err != nil {
			fmt.Fprintf(r.talk, "bench: once more: %v\n", err)
			row, err = r.cell(w, c, round).run()
		}
		if err != nil {
			fmt.Fprintf(r.talk, "bench: no row: %v\n", err)
			if !c.isPeer() {
				r.failed = append(r.failed, err)
			}
			continue
		}
		fmt.Fprintf(r.talk, "bench: %s round %d of %d, %s, %s: %.0f/s\n",
			time.Now().Format(time.TimeOnly), round+1, r.settings.of(w), w.name, c.who, row.OpsPerSecond)
		rows = append(rows, row)
	}
	return rows
}

func (r *runner) cell(w workload, c contender, round int) *cell {
	own := &cell{
		contender: c, workload: w.of(c), timing: r.settings.timing.of(w), server: r.server, dir: r.dir,
		name: fmt.Sprintf("bench:%s:%s:%d", w.name, c.who, round),
	}
	if r.etcd != nil {
		own.etcd = r.etcd.addr
	}
	return own
}

// use makes path the redis-server that is found in PATH, under that name and
// ahead of others; Valkey's program has another. Empty: leave PATH alone.
func use(path, dir string) error {
	if path == "" {
		return nil
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(path, filepath.Join(bin, "redis-server")); err != nil {
		return err
	}
	return os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}
