package callers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/test/bench/counters"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
	"github.com/holdfast-go/holdfast/test/support/child"
)

// Run is one contender in one workload.
type Run struct {
	Workload string
	Who      string
	Window   time.Duration // that is measured
	Addr     string        // of redis-server
	Program  string        // whose processes the callers run in, with ChildVariable set; empty: this program
	Dir      string        // for files
	Name     string        // locked by nobody before
}

// times are when the window begins and ends, and when the callers stop, since they began: first they
// run unmeasured, and at the end they run on, so that the end of the window is like its middle.
type times struct{ from, to, stop time.Duration }

func (r Run) times(w Workload) times {
	if w.Twice {
		r.Window *= 2
	}
	from := 250 * time.Millisecond
	return times{from, from + r.Window, from + r.Window + 50*time.Millisecond}
}

// ChildVariable is set in the environment of a process that has to run [Child].
const ChildVariable = "HOLDFAST_BENCH_CALLERS"

// order is what a child is told. It opens its contender, lets each caller lock and release
// once, answers, reads the time to start, runs, and prints its tally.
type order struct {
	Run
	Section string // the file behind the critical section
}

// Child runs the callers of one process. Its contender is not closed: the process ends.
func Child(stdin io.Reader, stdout io.Writer) error {
	lines := child.NewLines(stdin)
	var o order
	if err := lines.Read(&o); err != nil {
		return err
	}
	w, c, ok := Find(o.Workload, o.Who)
	if !ok {
		return fmt.Errorf("no contender %q in a workload %q", o.Who, o.Workload)
	}
	w = w.For(c)
	p := &process{contender: c, workload: w, name: o.Name, times: o.times(w)}
	var err1, err2 error
	p.section, err1 = openSection(o.Section)
	p.mutex, err2 = c.Open(rivals.Setup{Addr: o.Addr, Linger: w.Linger})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	callers, err := p.newCallers()
	if err != nil {
		return err
	}
	if err := child.Say(stdout, "ready"); err != nil {
		return err
	}
	var start time.Time
	if err := lines.Read(&start); err != nil {
		return err
	}
	time.Sleep(time.Until(start))
	return child.Say(stdout, p.drive(callers))
}

// grace is what a run may take beyond its own time: processes start, a client that ignores
// ctx comes back late.
const grace = 15 * time.Second

// Measure returns the figures of a run, on an empty server. A call of holdfast or of a limit that fails
// is an error, one of another library only counts.
func (r Run) Measure() (f map[string]float64, err error) {
	w, c, ok := Find(r.Workload, r.Who)
	if !ok {
		return nil, fmt.Errorf("no contender %q in a workload %q", r.Who, r.Workload)
	}
	w, t := w.For(c), r.times(w)
	rc := redis.NewClient(&redis.Options{Addr: r.Addr})
	defer rc.Close()
	o := order{r, filepath.Join(r.Dir, "section")}
	if err := errors.Join(rc.FlushAll(context.Background()).Err(), newSection(o.Section)); err != nil {
		return nil, err
	}
	defer os.Remove(o.Section)
	section, err := openSection(o.Section)
	if err != nil {
		return nil, err
	}
	processes, err := start(o, w.Processes, t.stop+grace)
	for _, p := range processes {
		defer p.End()
	}
	if err != nil {
		return nil, err
	}
	from, to, err := watch(rc, processes, t)
	if err != nil {
		return nil, err
	}
	f, failure, err := gather(processes, t.to-t.from)
	if err != nil {
		return nil, err
	}
	if w.Shared && !c.Outside && w.Capacity == 1 {
		f["overlaps"] += f["entered"] - float64(section.count.Load())
	}
	delete(f, "entered")
	if ops := f["ops_per_s"]; ops > 0 {
		sent, inScripts := to.PerSecond(from, c.Sends)
		f["commands_per_op"], f["script_commands_per_op"], f["server_cpu_us_per_op"] = sent/ops, inScripts/ops, to.Cores(from)*1e6/ops
	}
	if failure != "" && !c.IsPeer() {
		err = errors.New(failure)
	}
	return f, err
}

// start starts the processes and waits until they are ready.
func start(o order, n int, atMost time.Duration) (processes []*child.Child, err error) {
	for range n {
		p, err := child.StartProgram(o.Program, ChildVariable, "1", atMost)
		if err != nil {
			return processes, err
		}
		processes = append(processes, p)
		if err := p.Tell(o); err != nil {
			return processes, err
		}
	}
	for _, p := range processes {
		if err := p.Hear(nil); err != nil {
			return processes, err
		}
	}
	return processes, nil
}

// watch starts the callers and asks the server where the window begins and ends. It asks late
// on a busy machine; rates are over the time in between, whatever it was.
func watch(rc *redis.Client, processes []*child.Child, t times) (from, to counters.State, err error) {
	begin := time.Now().Add(10 * time.Millisecond)
	for _, p := range processes {
		if err := p.Tell(begin); err != nil {
			return from, to, err
		}
	}
	time.Sleep(time.Until(begin.Add(t.from)))
	from, err1 := counters.Read(context.Background(), rc)
	time.Sleep(time.Until(begin.Add(t.to)))
	to, err2 := counters.Read(context.Background(), rc)
	return from, to, errors.Join(err1, err2)
}

// gather makes figures of what the processes did.
func gather(processes []*child.Child, window time.Duration) (f map[string]float64, failure string, err error) {
	f = map[string]float64{}
	waits, handovers := newHistogram(), newHistogram()
	var counts []int
	for _, p := range processes {
		var t tally
		if err := p.Hear(&t); err != nil {
			return f, "", err
		}
		w, err1 := hdrhistogram.Decode(t.Waits)
		h, err2 := hdrhistogram.Decode(t.Handovers)
		if err := errors.Join(err1, err2); err != nil {
			return f, "", err
		}
		waits.Merge(w)
		handovers.Merge(h)
		counts = append(counts, t.Counts...)
		f["max_us"] = max(f["max_us"], float64(t.Longest.Nanoseconds())/1e3)
		for name, v := range t.Sums {
			f[name] += v
		}
		failure = cmp.Or(failure, t.Failure)
	}
	for _, name := range []string{"client_cpu_us_per_op", "allocs_per_op", "alloc_bytes_per_op"} {
		f[name] /= float64(max(waits.TotalCount(), 1))
	}
	f["ops_per_s"], f["jain"] = float64(waits.TotalCount())/window.Seconds(), jain(counts)
	f["p50_us"], f["p99_us"] = micros(waits, 50), micros(waits, 99)
	if handovers.TotalCount() > 0 {
		f["handover_p50_us"], f["handover_p99_us"] = micros(handovers, 50), micros(handovers, 99)
	}
	return f, failure, nil
}

func micros(h *hdrhistogram.Histogram, percent float64) float64 {
	return float64(h.ValueAtQuantile(percent)) / 1e3
}

// jain is Jain's index of fairness: 1 if all have the same, 1/n if one has everything, 0 if
// nobody has anything.
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
