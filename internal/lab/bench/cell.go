package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// cell is one contender in one workload, once.
type cell struct {
	contender contender
	workload  workload
	timing    timing
	server    *redistest.Server
	dir       string // for its file
	name      string // locked by nobody before
}

// grace is what a cell may take beyond its own time: processes start, a client
// that ignores ctx comes back late. A contender that needs more is cut off.
const grace = 15 * time.Second

// run returns the row of this cell.
func (c *cell) run() (Row, error) {
	row, err := c.measure()
	if err != nil {
		err = fmt.Errorf("%s, %s: %w", c.workload.name, c.contender.who, err)
	}
	return row, err
}

func (c *cell) measure() (Row, error) {
	if _, err := c.server.Do("FLUSHALL"); err != nil {
		return Row{}, err
	}
	section := filepath.Join(c.dir, "section")
	if err := newCritical(section); err != nil {
		return Row{}, err
	}
	defer os.Remove(section)
	in, err := openCritical(section)
	if err != nil {
		return Row{}, err
	}
	processes, err := c.startProcesses(section)
	for _, p := range processes {
		defer p.end()
	}
	if err != nil {
		return Row{}, err
	}
	from, to, err := c.watch(processes)
	if err != nil {
		return Row{}, err
	}
	tallies := make([]tally, len(processes))
	for i, p := range processes {
		if tallies[i], err = p.tally(); err != nil {
			return Row{}, err
		}
	}
	return c.row(tallies, in, from, to)
}

func (c *cell) startProcesses(section string) ([]*process, error) {
	o := order{
		Who: c.contender.who, Workload: c.workload.name, Addr: c.server.Addr(),
		Name: c.name, Section: section, Timing: c.timing,
	}
	atMost := c.timing.Warm + c.timing.Window + c.timing.Cool + grace
	var processes []*process
	for range c.workload.processes {
		p, err := startProcess(o, atMost)
		if p != nil {
			processes = append(processes, p)
		}
		if err != nil {
			return processes, err
		}
	}
	for _, p := range processes {
		if err := p.ready(); err != nil {
			return processes, err
		}
	}
	return processes, nil
}

// watch starts the callers and looks at the server's counters where the window
// begins and ends. The looks come late on a busy machine; rates are over the
// time between them, whatever it was.
func (c *cell) watch(processes []*process) (from, to commands, err error) {
	start := time.Now().Add(10 * time.Millisecond)
	for _, p := range processes {
		if err := p.start(start); err != nil {
			return from, to, err
		}
	}
	win := c.timing.after(start)
	time.Sleep(time.Until(win.from))
	from, err1 := lookAtCommands(c.server)
	time.Sleep(time.Until(win.to))
	to, err2 := lookAtCommands(c.server)
	return from, to, errors.Join(err1, err2)
}

// row makes one row of what the children did.
func (c *cell) row(tallies []tally, in *critical, from, to commands) (Row, error) {
	waits := newHistogram()
	var counts []int
	var longest time.Duration
	var entered int64
	row := Row{Workload: c.workload.name, Who: c.contender.who}
	if c.workload.limit != "" {
		row.Who = "limit"
	}
	for _, t := range tallies {
		h, err := hdrhistogram.Decode(t.Waits)
		if err != nil {
			return row, err
		}
		waits.Merge(h)
		counts = append(counts, t.Counts...)
		longest = max(longest, t.Longest)
		entered += t.Entered
		row.Overlaps += t.Seen
		row.Failed += t.Failed
		if row.Failure == "" {
			row.Failure = t.Failure
		}
	}
	row.Overlaps += in.lost(entered)
	row.OpsPerSecond = float64(waits.TotalCount()) / c.timing.Window.Seconds()
	row.P50 = float64(waits.ValueAtQuantile(50))
	row.P99 = float64(waits.ValueAtQuantile(99))
	row.Max = float64(longest.Microseconds())
	row.Jain = jain(counts)
	if row.OpsPerSecond > 0 {
		sent, inScripts := rates(from, to, c.contender.sends)
		row.Commands = sent / row.OpsPerSecond
		row.InScripts = inScripts / row.OpsPerSecond
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
