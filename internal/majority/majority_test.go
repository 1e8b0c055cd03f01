package majority_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/majority"
)

func TestDistinct(t *testing.T) {
	for name, c := range map[string]struct {
		runs []string
		want int
	}{
		"none":                      {nil, 0},
		"three servers":             {[]string{"a", "b", "c"}, 3},
		"one server, two addresses": {[]string{"a", "b", "a"}, 2},
		"unknown runs differ":       {[]string{"", "", "a"}, 3},
	} {
		got := majority.Distinct(len(c.runs), func(i int) (string, bool) { return c.runs[i], true })
		if got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
	if got := majority.Distinct(3, func(i int) (string, bool) { return "a", i == 2 }); got != 1 {
		t.Errorf("a node that has no answer counts: got %d, want 1", got)
	}
}

func TestAskWaitsForStragglersOnly(t *testing.T) {
	silent := func(ctx context.Context, i int) (int, error) {
		if i == 4 {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		if i == 3 {
			time.Sleep(100 * time.Millisecond)
		}
		if i == 0 {
			return 0, errors.New("refused")
		}
		return i, nil
	}
	never := func([]int) bool { return false }
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.Sleep(time.Second) // the others end
		defer cancel()
		began := time.Now()
		answers, errs := majority.Ask(ctx, 5, silent, never)
		if took := time.Since(began); took != 300*time.Millisecond || len(answers) != 3 || errs[0] == nil {
			t.Errorf("got %v after %v, errors %v; want three answers after 300 ms: the third came after 100 ms", answers, took, errs)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.Sleep(time.Second) // the others end
		defer cancel()
		began := time.Now()
		answers, _ := majority.Ask(ctx, 5, silent, func(a []int) bool { return len(a) == 2 })
		if took := time.Since(began); took != 0 || len(answers) != 2 {
			t.Errorf("got %v after %v; want two answers at once: they decide", answers, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer time.Sleep(time.Second)
		defer cancel()
		answers, _ := majority.Ask(ctx, 5, silent, never)
		if len(answers) != 2 {
			t.Errorf("got %v; want the two answers that came before ctx ended", answers)
		}
	})
}
