package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// childVariable is set in the environment of a child; cmd then runs Child.
const childVariable = "HOLDFAST_BENCH_CHILD"

// order is what a child is told, a line of JSON on its standard input. It opens
// its contender, takes and gives back a lock once (which loads scripts and
// connects all there is to connect), prints "ready", reads the time to start as
// nanoseconds since 1970, runs, prints its tally as JSON, and ends.
type order struct {
	Who      string
	Workload string
	Addr     string
	Name     string // what is locked, or what the names begin with
	Section  string // the file behind the critical section
	Timing   timing
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
	c, w, err := o.find()
	if err != nil {
		return err
	}
	in, err := openCritical(o.Section)
	if err != nil {
		return err
	}
	s, err := c.open(o.Addr)
	if err != nil {
		return err
	}
	if err := warm(s, fmt.Sprintf("%s:warm:%d", o.Name, os.Getpid())); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	start, err := readTime(lines)
	if err != nil {
		return err
	}
	win := o.Timing.after(start)
	time.Sleep(time.Until(start))
	// The session is not closed: the process ends, and a contender that takes
	// long to close must not be waited for.
	return json.NewEncoder(stdout).Encode(drive(s, w, o.Name, in, win))
}

func (o order) find() (contender, workload, error) {
	c, ok := contenderNamed(o.Who)
	if !ok {
		return c, workload{}, fmt.Errorf("no contender %q", o.Who)
	}
	for _, w := range workloads {
		if w.name == o.Workload {
			return c, w, nil
		}
	}
	return c, workload{}, fmt.Errorf("no workload %q", o.Workload)
}

// warm takes and gives back a lock that nobody else wants.
func warm(s session, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	release, err := s.lock(ctx, name)
	if err != nil {
		return err
	}
	return release()
}

// after says when the window begins and ends if the callers begin at start.
func (t timing) after(start time.Time) window {
	from := start.Add(t.Warm)
	to := from.Add(t.Window)
	return window{from: from, to: to, stop: to.Add(t.Cool)}
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
