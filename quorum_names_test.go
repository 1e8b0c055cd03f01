package holdfast_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
)

// shelf is a store that only knows names; a frozen one tells the first and hangs.
type shelf struct {
	hanging
	names  []string
	frozen bool
}

func (s *shelf) Scan(ctx context.Context, _ string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, name := range s.names {
			if !yield("holdfast/fence:{holdfast:"+name+"}", nil) {
				return
			}
			if s.frozen {
				<-ctx.Done()
				yield("", ctx.Err())
				return
			}
		}
	}
}

// A node that hangs keeps the names that a majority knows from nobody.
func TestQuorumNamesOfAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := []driver.Store{
			&shelf{names: []string{"early", "lost"}, frozen: true},
			&shelf{names: []string{"a", "b"}},
			&shelf{names: []string{"b", "c"}},
		}
		for _, s := range stores {
			s.(*shelf).free = make(chan struct{})
		}
		client := holdfast.NewQuorum("orders/1/3-5f3a9c0d1e", nil, stores...)
		began := time.Now()
		var names []string
		for name, err := range admin.OfQuorum(client).Names(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v, want no longer than what a majority takes, and a moment", took)
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"a", "b", "c", "early"}) {
			t.Errorf("got %v, want a, b, c and early, each once", names)
		}
		for _, s := range stores {
			close(s.(*shelf).free)
		}
		if err := client.Close(); err != nil {
			t.Log(err) // the nodes answer nothing
		}
	})
}
