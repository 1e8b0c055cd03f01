package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/scenario"
	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// runner is one run of the benchmarks.
type runner struct {
	settings contend.Settings
	run, who *regexp.Regexp // nil: all
	server   *redistest.Server
	etcd     *scenario.EtcdServer // nil: there is none
	dir      string
	talk     io.Writer
	failed   []error // cells of ours, or of limits, without a row
}

// report starts the servers, gives every workload to all in turn, round after
// round, and tells talk how far it is.
func (r *runner) report(command string) (report.Report, error) {
	found := report.NewReport(r.settings, command)
	var err error
	if r.dir, err = os.MkdirTemp("", "holdfast-bench"); err != nil {
		return found, err
	}
	defer os.RemoveAll(r.dir)
	if r.server, err = redistest.Run(r.dir, redistest.Options{}); err != nil {
		return found, err
	}
	defer r.server.Close()
	if r.etcd, err = scenario.StartEtcd(r.dir); err != nil {
		return found, err
	}
	defer r.etcd.Close()
	if found.Versions["server"], err = report.ServerVersion(r.server); err != nil {
		return found, err
	}
	if r.etcd != nil {
		found.Versions["etcd"] = r.etcd.Version
	} else {
		fmt.Fprintln(r.talk, "bench: no row of etcd: etcd is not in PATH (Debian: apt-get install etcd-server)")
	}
	found.Rows = r.rounds()
	return found, nil
}

// rounds returns the rows in the order of workloads and contenders.
func (r *runner) rounds() []report.Row {
	type key struct{ workload, who string }
	rows, numbers := map[key][]report.Row{}, map[key][]int{}
	for round := range 2 * r.settings.Rounds {
		for _, w := range workload.AllWorkloads() {
			if round >= r.settings.Of(w) {
				continue
			}
			for _, row := range r.inTurn(w, round) {
				k := key{row.Workload, row.Who}
				rows[k], numbers[k] = append(rows[k], row), append(numbers[k], round)
			}
		}
	}
	var all []report.Row
	for _, w := range workload.AllWorkloads() {
		for _, c := range workload.TakePart(w) {
			k := key{w.Name, c.Who}
			if len(rows[k]) > 0 {
				all = append(all, report.Merge(rows[k], numbers[k]))
			}
		}
	}
	return all
}

// inTurn gives a workload to all who run it, in an order that the round draws. A cell
// that fails is tried once more, and costs its row and not the figures of others.
func (r *runner) inTurn(w contend.Workload, round int) []report.Row {
	if r.run != nil && !r.run.MatchString(w.Name) {
		return nil
	}
	var rows []report.Row
	turn := workload.TakePart(w)
	for _, i := range rand.New(rand.NewPCG(uint64(round), 0)).Perm(len(turn)) { // the same in each run
		c := turn[i]
		if r.who != nil && !r.who.MatchString(c.Who) || c.Who == "etcd" && r.etcd == nil {
			continue
		}
		row, err := r.scenario(w, c, round).Run()
		if err != nil {
			fmt.Fprintf(r.talk, "bench: once more: %v\n", err)
			row, err = r.scenario(w, c, round).Run()
		}
		if err != nil {
			fmt.Fprintf(r.talk, "bench: no row: %v\n", err)
			if !c.IsPeer() {
				r.failed = append(r.failed, err)
			}
			continue
		}
		fmt.Fprintf(r.talk, "bench: %s round %d of %d, %s, %s: %.0f/s\n",
			time.Now().Format(time.TimeOnly), round+1, r.settings.Of(w), w.Name, c.Who, row.OpsPerSecond)
		rows = append(rows, row)
	}
	return rows
}

func (r *runner) scenario(w contend.Workload, c contend.Contender, round int) *scenario.Scenario {
	own := &scenario.Scenario{
		Contender: c, Workload: w.Of(c), Timing: r.settings.Timing.Of(w), Server: r.server, Dir: r.dir,
		Name: fmt.Sprintf("bench:%s:%s:%d", w.Name, c.Who, round),
	}
	if r.etcd != nil {
		own.Etcd = r.etcd.Addr
	}
	return own
}
