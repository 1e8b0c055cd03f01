package scenario

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/child"
)

// childVariable is set in the environment of a child; cmd then runs Child.
const childVariable = "HOLDFAST_BENCH_CHILD"

// order is what a child is told, a line of JSON on its standard input. It opens
// its contender, lets each caller take and give back a lock once (which loads
// scripts and connects all there is to connect), prints "ready", reads the time to start, runs, prints its tally as JSON, and ends.
type order struct {
	Who      string
	Workload string
	Setup    contend.Setup
	Name     string // what is locked, or what the names begin with
	Section  string // the file behind the critical section
	Timing   contend.Timing
}

// IsChild reports whether this process was started to run callers.
func IsChild() bool { return os.Getenv(childVariable) != "" }

// Child runs the callers of one process of a cell.
func Child(stdin io.Reader, stdout io.Writer) error {
	lines := child.NewLines(stdin)
	var o order
	if err := lines.Read(&o); err != nil {
		return err
	}
	w, err := o.workers()
	if err != nil {
		return err
	}
	s, err := w.contender.Open(o.Setup)
	if err != nil {
		return err
	}
	if err := w.warm(s, fmt.Sprintf("%s:warm:%d", o.Name, os.Getpid())); err != nil {
		return err
	}
	callers, err := w.newCallers(s, o.Name)
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
	// The session is not closed: the process ends, and a contender that takes
	// long to close must not be waited for.
	return child.Say(stdout, w.drive(callers))
}

// workers finds what the order names.
func (o order) workers() (*workers, error) {
	w, ok := workload.Named(o.Workload)
	if !ok {
		return nil, fmt.Errorf("no workload %q", o.Workload)
	}
	c, ok := workload.ContenderOf(w, o.Who)
	if !ok {
		return nil, fmt.Errorf("no contender %q", o.Who)
	}
	section, err := openCritical(o.Section)
	return &workers{
		contender: c, workload: w.Of(c), section: section, win: windowOf(o.Timing),
		waits: NewRecorder(), handovers: NewRecorder(), alone: NewRecorder(),
	}, err
}

// windowOf says when the window begins and ends, from the callers' begin on.
func windowOf(t contend.Timing) window {
	to := t.Warm + t.Window
	return window{from: t.Warm, to: to, stop: to + t.Cool}
}
