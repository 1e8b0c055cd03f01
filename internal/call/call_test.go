package call_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// store answers as eval does.
type store struct {
	driver.Store
	eval func(ctx context.Context, call driver.Call) ([]string, error)
	runs atomic.Int64 // pipelines
}

func (s *store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	return s.eval(ctx, call)
}

func (s *store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	s.runs.Add(1)
	results := make([]driver.Result, len(calls))
	for i, c := range calls {
		results[i].Reply, results[i].Err = s.eval(ctx, c)
	}
	return results
}

var (
	ping    = driver.Call{Script: driver.NewScript("ping", "return 1"), Keys: []string{"holdfast:n"}}
	errGone = errors.New("connection refused")
)

func newCaller(t *testing.T, eval func(context.Context, driver.Call) ([]string, error)) (*call.Caller, *store) {
	began := time.Now()
	s := &store{eval: eval}
	return &call.Caller{
		Store: s, Life: t.Context(), Attempt: time.Second,
		Clock: clock.New(func() time.Duration { return time.Since(began) }),
	}, s
}

// A call returns when its context ends, and its driver has 2 s all the same.
func TestRunLeavesTheDriverItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var had atomic.Int64
		c, _ := newCaller(t, func(ctx context.Context, _ driver.Call) ([]string, error) {
			<-ctx.Done()
			had.Store(int64(time.Since(began)))
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if _, err := c.Run(ctx, time.Minute, ping); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		if took := time.Since(began); took != 5*time.Millisecond {
			t.Errorf("returned after %v, want 5ms", took)
		}
		time.Sleep(time.Minute)
		if had := time.Duration(had.Load()); had != 2*time.Second {
			t.Errorf("the driver had %v, want 2s", had)
		}
	})
}

// A call that its caller has left ends with Life.
func TestRunEndsWithLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		c, _ := newCaller(t, func(ctx context.Context, _ driver.Call) ([]string, error) {
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		})
		var end func()
		c.Life, end = context.WithCancel(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		_, _ = c.Run(ctx, time.Minute, ping)
		end()
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("the call goes on behind the end of life")
		}
	})
}

// The end of the limit is not reported as the end of the context. If the context has ended,
// nothing is sent.
func TestRunTellsTheLimitFromTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		c, _ := newCaller(t, func(ctx context.Context, _ driver.Call) ([]string, error) {
			sent++
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if _, err := c.Run(t.Context(), time.Second, ping); err != wire.ErrNoAnswer { //nolint:errorlint // that very one
			t.Errorf("got %v, want %v", err, wire.ErrNoAnswer)
		}
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Run(ended, time.Second, ping); !errors.Is(err, context.Canceled) || sent != 1 {
			t.Errorf("got %v after %d calls, want the end of the context after 1", err, sent)
		}
		time.Sleep(time.Minute)
	})
}

func TestUntilRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, failures := time.Now(), 3
		c, _ := newCaller(t, func(context.Context, driver.Call) ([]string, error) {
			if failures--; failures >= 0 {
				return nil, []error{errGone, driver.ServerError("LOADING"), errGone}[failures]
			}
			return []string{"pong"}, nil
		})
		reply, sent, err := c.Until(t.Context(), clock.Instant(time.Minute), "n", ping)
		if err != nil || !slices.Equal(reply, []string{"pong"}) {
			t.Fatalf("got %q, %v", reply, err)
		}
		if got, want := time.Since(began), 70*time.Millisecond; got != want || sent != clock.Instant(want) {
			t.Errorf("answered after %v, sent at %v, want both %v", got, sent, want)
		}
	})
}

func TestUntilEnds(t *testing.T) {
	errClosed := errors.New("closed")
	for name, test := range map[string]struct {
		err    error
		ends   time.Duration // of ctx
		closed bool
		want   error
		after  time.Duration // at most
	}{
		"a permanent error":   {err: driver.ServerError("NOPERM No permissions to access a key"), want: driver.ServerError("NOPERM No permissions to access a key")},
		"a transient error":   {err: errGone, want: wire.ErrUnreachable, after: 10 * time.Second},
		"the caller's end":    {err: errGone, ends: 5 * time.Second, want: context.DeadlineExceeded, after: 5 * time.Second},
		"the end of a client": {err: errGone, closed: true, want: errClosed, after: 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c, _ := newCaller(t, func(context.Context, driver.Call) ([]string, error) { return nil, test.err })
			if test.closed {
				life, end := context.WithCancel(t.Context())
				time.AfterFunc(3*time.Second, end)
				c.Life, c.Closed = life, func() error {
					if life.Err() != nil {
						return errClosed
					}
					return nil
				}
			}
			ctx := t.Context()
			if test.ends > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.ends)
				defer cancel()
			}
			_, _, err := c.Until(ctx, clock.Instant(10*time.Second), "n", ping)
			if !errors.Is(err, test.want) {
				t.Errorf("%s: got %v, want %v", name, err, test.want)
			}
			if took := time.Since(began); took > test.after {
				t.Errorf("%s: after %v, want at most %v", name, took, test.after)
			}
		})
	}
}

// After an attempt that hangs, there is another one, even after the end of Life if Closed is
// nil.
func TestUntilBoundsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		c, _ := newCaller(t, func(ctx context.Context, _ driver.Call) ([]string, error) {
			if tries.Add(1) == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []string{"pong"}, nil
		})
		life, end := context.WithCancel(t.Context())
		end()
		c.Life = life
		if _, sent, err := c.Until(t.Context(), clock.Instant(time.Minute), "n", ping); err != nil || sent != clock.Instant(1010*time.Millisecond) {
			t.Errorf("got %v, sent at %v, want 1.01s", err, sent)
		}
	})
}

func TestMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCaller(t, func(_ context.Context, call driver.Call) ([]string, error) { return call.Args, nil })
		calls := make([]driver.Call, 300)
		for i := range calls {
			calls[i] = driver.Call{Script: ping.Script, Keys: ping.Keys, Args: []string{fmt.Sprint(i)}}
		}
		for i, r := range c.Many(t.Context(), time.Second, calls) {
			if r.Err != nil || !slices.Equal(r.Reply, calls[i].Args) {
				t.Fatalf("%d: got %q, %v", i, r.Reply, r.Err)
			}
		}
		if got := s.runs.Load(); got != 3 {
			t.Errorf("%d pipelines, want 3", got)
		}
		if got := c.Many(t.Context(), time.Second, nil); len(got) != 0 {
			t.Errorf("got %d results for no calls", len(got))
		}
	})
}

// If one pipeline is not answered, those that have not begun are not sent.
func TestManyGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		free := make(chan struct{})
		c, s := newCaller(t, func(context.Context, driver.Call) ([]string, error) {
			<-free // a driver that ignores its context
			return nil, errGone
		})
		calls := slices.Repeat([]driver.Call{ping}, 10*128)
		for _, r := range c.Many(t.Context(), 3*time.Second, calls) {
			if !errors.Is(r.Err, wire.ErrNoAnswer) {
				t.Fatalf("got %v, want %v", r.Err, wire.ErrNoAnswer)
			}
		}
		if took, runs := time.Since(began), s.runs.Load(); took != 3*time.Second || runs != 4 {
			t.Errorf("%d pipelines in %v, want 4 in 3s", runs, took)
		}
		close(free)
	})
}

// A refusal is an answer.
func TestManyRefused(t *testing.T) {
	c, s := newCaller(t, func(context.Context, driver.Call) ([]string, error) { return nil, driver.ServerError("NOPERM no") })
	calls := slices.Repeat([]driver.Call{ping}, 10*128)
	for _, r := range c.Many(t.Context(), time.Second, calls) {
		if r.Err != error(driver.ServerError("NOPERM no")) { //nolint:errorlint // that very one
			t.Fatalf("got %v", r.Err)
		}
	}
	if got := s.runs.Load(); got != 10 {
		t.Errorf("%d pipelines, want all 10", got)
	}
}
