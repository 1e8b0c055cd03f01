package cell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
	"github.com/holdfast-go/holdfast/internal/lab/bench/workload"
)

// childVariable is set in the environment of a child; cmd then runs Child.
const childVariable = "HOLDFAST_BENCH_CHILD"

// order is what a child is told, a line of JSON on its standard input. It opens
// its contender, lets each caller take and give back a lock once (which loads
// scripts and connects all there is to connect), prints "ready", reads the time to start as
// nanoseconds since 1970, runs, prints its tally as JSON, and ends.
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
	lines := bufio.NewReader(stdin)
	var o order
	if err := readJSON(lines, &o); err != nil {
		return err
	}
	w, err := o.crew()
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
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	start, err := readTime(lines)
	if err != nil {
		return err
	}
	time.Sleep(time.Until(start))
	// The session is not closed: the process ends, and a contender that takes
	// long to close must not be waited for.
	return json.NewEncoder(stdout).Encode(w.drive(callers))
}

// crew finds what the order names.
func (o order) crew() (*crew, error) {
	w, ok := workload.Named(o.Workload)
	if !ok {
		return nil, fmt.Errorf("no workload %q", o.Workload)
	}
	c, ok := workload.ContenderOf(w, o.Who)
	if !ok {
		return nil, fmt.Errorf("no contender %q", o.Who)
	}
	section, err := openCritical(o.Section)
	return &crew{
		contender: c, workload: w.Of(c), section: section, win: windowOf(o.Timing),
		waits: NewRecorder(), handovers: NewRecorder(), alone: NewRecorder(),
	}, err
}

// windowOf says when the window begins and ends, from the callers' begin on.
func windowOf(t contend.Timing) window {
	to := t.Warm + t.Window
	return window{from: t.Warm, to: to, stop: to + t.Cool}
}

func readJSON(r *bufio.Reader, v any) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

func readTime(r *bufio.Reader) (time.Time, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return time.Time{}, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return time.Unix(0, ns), err
}
