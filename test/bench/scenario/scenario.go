// Package scenario runs one contender in one workload once: callers in processes of their
// own, and what they and the server counted.
package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Scenario is one run of one contender in one workload.
type Scenario struct {
	Contender contend.Contender
	Workload  contend.Workload // as this contender runs it
	Timing    contend.Timing
	Server    *redistest.Server
	Etcd      string // its address, empty without one
	Dir       string // for files
	Name      string // locked by nobody before
}

// grace is what a cell may take beyond its own time: processes start, a client
// that ignores ctx comes back late. A contender that needs more is cut off.
const grace = 15 * time.Second

// Run returns the row of this cell, on an empty server.
func (c *Scenario) Run() (report.Row, error) {
	_, err := c.Server.Do("FLUSHALL")
	var row report.Row
	if err == nil {
		row, err = c.inProcesses()
	}
	if err != nil {
		err = fmt.Errorf("%s, %s: %w", c.Workload.Name, c.Contender.Who, err)
	}
	return row, err
}

// inProcesses lets callers in processes of their own do it.
func (c *Scenario) inProcesses() (report.Row, error) {
	path := filepath.Join(c.Dir, "section")
	if err := newCritical(path); err != nil {
		return report.Row{}, err
	}
	defer os.Remove(path)
	section, err := openCritical(path)
	if err != nil {
		return report.Row{}, err
	}
	processes, err := c.startProcesses(path)
	for _, p := range processes {
		defer p.End()
	}
	if err != nil {
		return report.Row{}, err
	}
	from, to, err := c.watch(processes)
	if err != nil {
		return report.Row{}, err
	}
	tallies := make([]tally, len(processes))
	for i, p := range processes {
		if err = p.Hear(&tallies[i]); err != nil {
			return report.Row{}, err
		}
	}
	return c.row(tallies, section, from, to)
}

func (c *Scenario) startProcesses(section string) ([]*child.Child, error) {
	o := order{
		Who: c.Contender.Who, Workload: c.Workload.Name, Name: c.Name, Section: section, Timing: c.Timing,
		Setup: contend.Setup{Addr: c.Server.Addr(), Etcd: c.Etcd, Linger: c.Workload.Linger},
	}
	atMost := c.Timing.Warm + c.Timing.Window + c.Timing.Cool + grace
	var processes []*child.Child
	for range c.Workload.Processes {
		p, err := child.Start(childVariable, "1", atMost)
		if err != nil {
			return processes, err
		}
		processes = append(processes, p)
		if err := p.Tell(o); err != nil {
			return processes, err
		}
	}
	for _, p := range processes {
		if err := p.Hear(nil); err != nil { // it is ready
			return processes, err
		}
	}
	return processes, nil
}

// watch starts the callers and looks at the server's counters where the window
// begins and ends. The looks come late on a busy machine; rates are over the
// time between them, whatever it was.
func (c *Scenario) watch(processes []*child.Child) (from, to State, err error) {
	start := time.Now().Add(10 * time.Millisecond)
	for _, p := range processes {
		if err := p.Tell(start); err != nil {
			return from, to, err
		}
	}
	win := windowOf(c.Timing)
	time.Sleep(time.Until(start.Add(win.from)))
	from, err1 := Look(c.Server)
	time.Sleep(time.Until(start.Add(win.to)))
	to, err2 := Look(c.Server)
	return from, to, errors.Join(err1, err2)
}

// row makes one row of what the children did.
func (c *Scenario) row(tallies []tally, section *critical, from, to State) (report.Row, error) {
	row := report.Row{Workload: c.Workload.Name, Who: c.Contender.Who}
	waits, handovers, alone := newHistogram(), newHistogram(), newHistogram()
	var counts []int
	var entered int64
	var most, cpu time.Duration
	for _, t := range tallies {
		h, err1 := hdrhistogram.Decode(t.Waits)
		between, err2 := hdrhistogram.Decode(t.Handovers)
		whole, err3 := hdrhistogram.Decode(t.Alone)
		if err := errors.Join(err1, err2, err3); err != nil {
			return row, err
		}
		alone.Merge(whole)
		waits.Merge(h)
		handovers.Merge(between)
		counts = append(counts, t.Counts...)
		most, cpu = max(most, t.Longest), cpu+t.CPU
		entered += t.Entered
		row.Overlaps += t.Seen
		row.Failed += t.Failed
		if row.Failure == "" {
			row.Failure = t.Failure
		}
	}
	if c.Workload.Shared && !c.Contender.Outside {
		row.Overlaps += section.lost(entered)
	}
	row.OpsPerSecond = float64(waits.TotalCount()) / c.Timing.Window.Seconds()
	row.P50, row.P99 = Quantile(waits, 50), Quantile(waits, 99)
	row.Max = float64(most.Nanoseconds()) / 1e3
	row.Jain = jain(counts)
	if handovers.TotalCount() > 0 {
		row.HandoverP50, row.HandoverP99 = Quantile(handovers, 50), Quantile(handovers, 99)
	}
	if alone.TotalCount() > 0 && !c.Contender.Alone {
		row.Extra = map[string]float64{"p50 of writers in µs": Quantile(alone, 50), "p99 of writers in µs": Quantile(alone, 99)}
	}
	if row.OpsPerSecond > 0 {
		sent, inScripts := rates(from, to, c.Contender.Sends)
		row.Commands = sent / row.OpsPerSecond
		row.InScripts = inScripts / row.OpsPerSecond
		row.ServerCPU = to.Cores(from) * 1e6 / row.OpsPerSecond
		row.ClientCPU = float64(cpu.Microseconds()) / float64(waits.TotalCount())
	}
	return row, nil
}

// jain is Jain's index of fairness: 1 when all have the same, 1/n when one has
// everything. 0 when nobody has anything.
func jain(counts []int) float64 {
	var total, squares float64
	for _, n := range counts {
		total += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 0
	}
	return total * total / (float64(len(counts)) * squares)
}
