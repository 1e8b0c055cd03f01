package bulk

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/child"
)

// childVariable is set in the environment of a child of a bulk workload.
const childVariable = "HOLDFAST_BENCH_BULK"

// order says what a child is to do: the first line of its standard input, in
// JSON. It makes its job, and then answers words, a line each, until its input
// ends.
type order struct {
	Job     string
	Addr    string // of the server
	TTL     time.Duration
	Number  int    // of this child
	Name    string // what is locked, or what the names begin with
	Leases  int
	Read    bool // they are all of one name, as readers
	Clients int
	Callers int  // of each client
	Shared  bool // all clients of the child on one connection, see hub
}

// job answers what its parent asks.
type job func(word string) (any, error)

var jobs = map[string]func(order) (job, error){
	"leases": newLeasesJob,
	"queue":  newQueueJob,
	"line":   newLineJob,
	"poll":   newPollJob,
}

// IsChild reports whether this process was started as a child of a bulk
// workload.
func IsChild() bool { return os.Getenv(childVariable) != "" }

// Child does one job in a process of its own.
func Child(stdin io.Reader, stdout io.Writer) error {
	lines := child.NewLines(stdin)
	var o order
	if err := lines.Read(&o); err != nil {
		return err
	}
	begin, ok := jobs[o.Job]
	if !ok {
		return fmt.Errorf("no job %q", o.Job)
	}
	do, err := begin(o)
	if err != nil {
		return err
	}
	for {
		var word string
		if lines.Read(&word) != nil {
			return nil // the parent is done
		}
		answer, err := do(word)
		if err != nil {
			return err
		}
		if err := child.Say(stdout, answer); err != nil {
			return err
		}
	}
}

// start starts a child. One that has not ended by then is killed.
func start(o order, atMost time.Duration) (*child.Child, error) {
	c, err := child.Start(childVariable, "1", atMost)
	if err != nil {
		return nil, err
	}
	return c, c.Tell(o)
}

// children are told and heard together.
type children []*child.Child

func (all children) end() {
	for _, c := range all {
		c.End()
	}
}

// askAll lets all do it at once, and returns what each answered.
func askAll[T any](all children, word string) ([]T, error) {
	for _, c := range all {
		if err := c.Tell(word); err != nil {
			return nil, err
		}
	}
	values := make([]T, len(all))
	for i, c := range all {
		if err := c.Hear(&values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}
