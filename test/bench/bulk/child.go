package bulk

import (
	"time"

	"github.com/holdfast-go/holdfast/test/support/child"
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
	Read    bool // all leases are of one name, for readers
	Clients int
	Callers int  // of each client
	Shared  bool // all clients of the child on one connection, see hub
}

// job answers a word of its parent.
type job func(word string) (any, error)

// start starts a child. One that has not ended by then is killed.
func start(o order, atMost time.Duration) (*child.Child, error) {
	c, err := child.Start(childVariable, "1", atMost)
	if err != nil {
		return nil, err
	}
	return c, c.Tell(o)
}

// children get the same words, and answer side by side.
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
