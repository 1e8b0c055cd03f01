package bulk

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/child"
)

// bulkVariable is set in the environment of a child of a bulk workload.
const bulkVariable = "HOLDFAST_BENCH_BULK"

// bulkOrder says what a child is to do: the first line of its standard input, in
// JSON. It makes its job, and then answers words, a line each, until its input
// ends.
type bulkOrder struct {
	Job     string
	Addr    string // of the server
	TTL     time.Duration
	Number  int    // of this child
	Name    string // what is locked, or what the names begin with
	Leases  int
	Clients int
	Callers int  // of each client
	Shared  bool // all clients of the child on one connection, see hub
}

// bulkJob answers what its parent asks.
type bulkJob interface {
	do(word string) (any, error)
}

type bulkAnswer struct {
	Error string
	Value json.RawMessage
}

func answerParent(stdout io.Writer, value any, failure error) error {
	var a bulkAnswer
	if failure != nil {
		a.Error = failure.Error()
	}
	var err error
	if a.Value, err = json.Marshal(value); err != nil {
		return err
	}
	return child.Say(stdout, a)
}

// bulkChild is a child seen from its parent.
type bulkChild struct{ *child.Child }

// startBulk starts a child. One that has not ended by then is killed.
func startBulk(o bulkOrder, atMost time.Duration) (*bulkChild, error) {
	c, err := child.Start(bulkVariable, "1", atMost)
	if err != nil {
		return nil, err
	}
	return &bulkChild{c}, c.Tell(o)
}

// hear takes the answer to a word that was told.
func (c *bulkChild) hear(value any) error {
	var a bulkAnswer
	if err := c.Hear(&a); err != nil {
		return err
	}
	if a.Error != "" {
		c.End()
		return errors.New("child process: " + a.Error)
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(a.Value, value)
}

// Ask tells a word and takes the answer.
func (c *bulkChild) Ask(word string, value any) error {
	if err := c.Tell(word); err != nil {
		return err
	}
	return c.hear(value)
}

// bulkChildren are told and heard together.
type bulkChildren []*bulkChild

func (all bulkChildren) end() {
	for _, c := range all {
		c.End()
	}
}

// askAll lets all do it at once, and returns what each answered.
func askAll[T any](all bulkChildren, word string) ([]T, error) {
	for _, c := range all {
		if err := c.Tell(word); err != nil {
			return nil, err
		}
	}
	values := make([]T, len(all))
	for i, c := range all {
		if err := c.hear(&values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}
