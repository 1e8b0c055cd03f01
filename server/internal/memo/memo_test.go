package memo_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/server/internal/memo"
)

// Many requests at a time get one answer. A request whose context ends gets none.
func TestGetOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memo.Memo[int]{Max: 2}
		asked := 0
		young := func(a memo.Answer[int]) bool { return time.Since(a.At) < 2*time.Second }
		slow := func() (int, error) {
			asked++
			time.Sleep(time.Second)
			return asked, nil
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if got := m.Get(t.Context(), "a", young, slow); got.Value != 1 || got.Took != time.Second {
					t.Errorf("got %+v, want the first answer", got)
				}
			})
		}
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if got := m.Get(ended, "a", young, slow); !errors.Is(got.Err, context.Canceled) {
			t.Errorf("after its context: got %+v", got)
		}
		all.Wait()
		time.Sleep(2 * time.Second)
		if got := m.Get(t.Context(), "a", young, slow); got.Value != 2 {
			t.Errorf("of an old answer: got %+v, want a new one", got)
		}
	})
}

// It keeps no more than Most answers, and errors as well.
func TestMax(t *testing.T) {
	m := memo.Memo[int]{Max: 2}
	always := func(memo.Answer[int]) bool { return true }
	gone := errors.New("gone")
	asked := 0
	get := func(key string) error {
		return m.Get(t.Context(), key, always, func() (int, error) { asked++; return 0, gone }).Err
	}
	for _, c := range []struct {
		key  string
		want int
	}{{"a", 1}, {"b", 2}, {"a", 2}, {"b", 2}, {"c", 3}, {"c", 3}, {"a", 4}} {
		if err := get(c.key); !errors.Is(err, gone) || asked != c.want {
			t.Errorf("%s: asked %d times, %v; want %d times", c.key, asked, err, c.want)
		}
	}
}
