package admin_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
)

// answering answers every call alike. Its only name is "n".
type answering struct {
	reply []string
	err   error
	hangs bool // until the context of a call ends
}

func (s *answering) Eval(ctx context.Context, _ driver.Call) ([]string, error) {
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.reply, s.err
}

func (s *answering) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

func (s *answering) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (*answering) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, errors.New("no subscriptions here")
}

func (*answering) Scan(context.Context, string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("holdfast/fence:{holdfast:n}", nil) }
}

func (*answering) Sharded() bool { return false }

// A driver may return no reply at all, or one of another program.
func TestStrangeRepliesAreErrors(t *testing.T) {
	for _, reply := range [][]string{nil, {}, {""}, {"other kind"}, {"state"}, {"shared", "1"}} {
		names := admin.New(&answering{reply: reply}, nil)
		if _, err := names.Inspect(t.Context(), "n"); err == nil {
			t.Errorf("Inspect made a state of %q", reply)
		}
		if _, err := names.Revoke(t.Context(), "n", "0123456789", "why"); err == nil {
			t.Errorf("Revoke took %q for success", reply)
		}
		if err := names.Steal(t.Context(), "n", "0123456789", "why"); err == nil {
			t.Errorf("Steal took %q for success", reply)
		}
	}
}

// The end of a limit of ours must not look like the end of the caller's context.
func TestTheLimitIsNotTheCallersContext(t *testing.T) {
	unreachable := func(t *testing.T, what string, err error) {
		t.Helper()
		if !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want ErrUnreachable and no end of a context", what, err)
		}
	}
	_, err := admin.New(&answering{err: context.DeadlineExceeded}, nil).Survey(t.Context(), "")
	unreachable(t, "Survey", err)
	for range 20 { // the end of the limit and the errors of the nodes come at once
		synctest.Test(t, func(t *testing.T) {
			stores := []driver.Store{&answering{hangs: true}, &answering{hangs: true}, &answering{hangs: true}}
			_, err := admin.NewQuorum("", nil, stores...).Inspect(t.Context(), "n")
			unreachable(t, "Quorum.Inspect", err)
			time.Sleep(time.Minute) // the drivers return
		})
	}
}

// An Admin of a client gives up when the client would, on a quorum, too.
func TestPatienceIsThatOfTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := []driver.Store{&answering{hangs: true}, &answering{hangs: true}, &answering{hangs: true}}
		one := holdfast.New(stores[0], &holdfast.Options{TTL: 3 * time.Second})
		defer one.Close()
		many := holdfast.NewQuorum("q/1/3-0123456789", &holdfast.QuorumOptions{TTL: 3 * time.Second}, stores...)
		defer many.Close()
		for what, names := range map[string]admin.Reader{"one master": admin.Of(one), "a quorum": admin.OfQuorum(many)} {
			began := time.Now()
			if _, err := names.Inspect(t.Context(), "n"); !errors.Is(err, holdfast.ErrUnreachable) {
				t.Errorf("%s: got %v, want ErrUnreachable", what, err)
			}
			if took := time.Since(began); took != 3*time.Second {
				t.Errorf("%s: gave up after %v, want one TTL of 3s", what, took)
			}
		}
	})
}
