package admin_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
)

// alike is a store with the name "n" that answers every script alike.
func alike(reply []string, err error) *fake {
	return &fake{eval: func(driver.Call) ([]string, error) { return reply, err }, keys: fences("n")}
}

// A driver may return no reply at all, or one of another program.
func TestStrangeRepliesAreErrors(t *testing.T) {
	for _, reply := range [][]string{nil, {}, {""}, {"other kind"}, {"state"}, {"shared", "1"}} {
		names := admin.New(alike(reply, nil), nil)
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
	_, err := admin.New(alike(nil, context.DeadlineExceeded), nil).Survey(t.Context(), "", 0)
	unreachable(t, "Survey", err)
	for range 20 { // the end of the limit and the errors of the nodes come at once
		synctest.Test(t, func(t *testing.T) {
			stores := []driver.Store{silent(), silent(), silent()}
			_, err := admin.NewQuorum("", nil, stores...).Inspect(t.Context(), "n")
			unreachable(t, "Quorum.Inspect", err)
			time.Sleep(time.Minute) // the drivers return
		})
	}
}

// An Admin of a client gives up when the client would, on a quorum, too.
func TestPatienceIsThatOfTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := []driver.Store{silent(), silent(), silent()}
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
