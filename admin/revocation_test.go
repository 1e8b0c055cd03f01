package admin_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
)

// A hash and a reason are needed before anything is sent.
func TestRevokeRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx                  context.Context
		name, tenure, reason string
		want                 string
	}{
		"no hash":          {t.Context(), "n", "", "why", "ten hexadecimal digits"},
		"a short hash":     {t.Context(), "n", "0123", "why", "ten hexadecimal digits"},
		"another alphabet": {t.Context(), "n", "012345678g", "why", "ten hexadecimal digits"},
		"an id":            {t.Context(), "n", id, "why", "ten hexadecimal digits"},
		"no reason":        {t.Context(), "n", hash, "", "a reason is required"},
		"no name":          {t.Context(), "", hash, "why", "is empty"},
		"ended":            {ended, "n", hash, "why", "context canceled"},
	} {
		f := scripted(nil)
		a := admin.New(f, nil)
		_, revoked := a.Revoke(test.ctx, test.name, test.tenure, test.reason)
		stolen := a.Steal(test.ctx, test.name, test.tenure, test.reason)
		for _, err := range []error{revoked, stolen} {
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), id) {
				t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
			}
		}
		if len(f.calls) != 0 {
			t.Errorf("%s: %d calls were sent", name, len(f.calls))
		}
	}
}

func TestRevoke(t *testing.T) {
	f := scripted(map[*driver.Script]any{
		script.Inspect: state(id, 7),
		script.Revoke:  []string{"notified", "2", ""},
		script.Steal:   []string{"taken", ""},
	})
	a := admin.New(f, nil)
	if told, err := a.Revoke(t.Context(), "n", strings.ToUpper(hash), "deploy"); told != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", told, err)
	}
	if sent := f.calls[1]; !slices.Equal(sent.Args, []string{id, "", "deploy"}) || len(sent.Keys) != 2 {
		t.Errorf("sent %q with %q", sent.Args, sent.Keys)
	}
	if err := a.Steal(t.Context(), "n", hash, "deploy"); err != nil {
		t.Errorf("got %v", err)
	}
	if sent := f.calls[3]; sent.Script != script.Steal || len(sent.Keys) != 4 || sent.Args[0] != id {
		t.Errorf("sent %q with %q", sent.Args, sent.Keys)
	}
	f.cluster = true
	if _, err := a.Revoke(t.Context(), "n", hash, "deploy"); err != nil || f.calls[5].Args[1] != ":{holdfast:n}" {
		t.Errorf("in a Cluster: got %v, sent %q", err, f.calls[5].Args)
	}
}

// The holder that is meant may have ended before the order, or between the look and the order.
func TestRevokeOfAnother(t *testing.T) {
	other := "other.nonce.30000|you:2"
	for name, test := range map[string]struct {
		seen   []string // by mutex/inspect
		answer []string // to the order
		want   holdfast.TenureError
	}{
		"free":        {seen: free, want: holdfast.TenureError{Free: true}},
		"another":     {seen: state(other, 7), want: holdfast.TenureError{Owner: "you:2", Hash: keyspace.HashID(other), Remaining: 9 * time.Second}},
		"foreign":     {seen: state("redlock", 0), want: holdfast.TenureError{Hash: keyspace.HashID("redlock"), Foreign: true, Remaining: 9 * time.Second}},
		"a cool-down": {seen: state("cooldown|me:1", 7), want: holdfast.TenureError{Owner: "me:1", Cooldown: true, Remaining: 9 * time.Second}},
		"free now":    {seen: state(id, 7), answer: []string{"not held", "", "1"}, want: holdfast.TenureError{Free: true}},
		"another now": {seen: state(id, 7), answer: []string{"not held", other, "1"}, want: holdfast.TenureError{Owner: "you:2", Hash: keyspace.HashID(other)}},
	} {
		f := scripted(map[*driver.Script]any{script.Inspect: test.seen, script.Revoke: test.answer, script.Steal: test.answer})
		a := admin.New(f, nil)
		_, revoked := a.Revoke(t.Context(), "n", hash, "deploy")
		stolen := a.Steal(t.Context(), "n", hash, "deploy")
		test.want.Name, test.want.Tenure = "n", hash
		for _, err := range []error{revoked, stolen} {
			got, ok := errors.AsType[*holdfast.TenureError](err)
			if !ok || *got != test.want || !errors.Is(err, holdfast.ErrTenure) {
				t.Errorf("%s: got %+v, want %+v", name, err, test.want)
			}
		}
	}
}

// An order that is answered "again" goes out again; one that is not understood does not.
func TestStealAgain(t *testing.T) {
	answers := [][]string{{"again", "1"}, {"again"}, {"taken", ""}, {"kept", "1"}, {}}
	f := &fake{eval: func(call driver.Call) ([]string, error) {
		if call.Script == script.Inspect {
			return state(id, 7), nil
		}
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}}
	a := admin.New(f, nil)
	if err := a.Steal(t.Context(), "n", hash, "deploy"); err != nil || len(f.calls) != 4 {
		t.Errorf("got %v after %d calls, want nil after 4", err, len(f.calls))
	}
	if err := a.Steal(t.Context(), "n", hash, "deploy"); err == nil || !strings.Contains(err.Error(), `was answered "kept"`) {
		t.Errorf("got %v, want an error with the answer", err)
	}
	if err := a.Steal(t.Context(), "n", hash, "deploy"); err == nil || !strings.Contains(err.Error(), "an empty answer") {
		t.Errorf("got %v, want an error about the answer", err)
	}
}

// The holder of a shared kind that is meant may stand behind the first 1,000.
func TestRevokeBehindAThousand(t *testing.T) {
	first, meant := "first.nonce.30000.s1|", "client.nonce.30000.s2|me:1"
	there := true
	f := &fake{eval: func(call driver.Call) ([]string, error) {
		switch {
		case call.Script == script.Inspect:
			return []string{"other kind", "semaphore", "5"}, nil
		case call.Script == script.SharedInspect && there && call.Args[0] != "1000":
			return shared(1001, first, meant), nil
		case call.Script == script.SharedInspect:
			return shared(1001, first), nil
		case call.Script == script.SharedRevoke:
			return []string{"notified", "1", ""}, nil
		}
		return []string{"taken", ""}, nil
	}}
	a := admin.New(f, nil)
	tenure := keyspace.HashID(meant)
	if told, err := a.Revoke(t.Context(), "n", tenure, "deploy"); told != 1 || err != nil || len(f.calls) != 4 || f.calls[2].Args[0] != "1048576" {
		t.Errorf("got %d, %v after %d calls, want 1 after 4", told, err, len(f.calls))
	}
	if sent := f.calls[3]; sent.Args[0] != meant || !strings.Contains(sent.Keys[2], "revocation/client.nonce") {
		t.Errorf("sent %q with %q", sent.Args, sent.Keys)
	}
	if err := a.Steal(t.Context(), "n", tenure, "deploy"); err != nil || f.calls[7].Script != script.SharedSteal || len(f.calls[7].Keys) != 5 {
		t.Errorf("got %v, sent %q", err, f.calls[7].Keys)
	}
	there = false
	f.calls = nil
	_, err := a.Revoke(t.Context(), "n", tenure, "deploy")
	if got, ok := errors.AsType[*holdfast.TenureError](err); !ok || got.Hash != keyspace.HashID(first) || len(f.calls) != 3 {
		t.Errorf("got %v after %d calls, want a TenureError that names the first, after 3", err, len(f.calls))
	}
}

// An order goes out again until the timeout; a permanent error ends it.
func TestRevokeUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, answer := range []any{errGone, denied, []string{"what"}} {
			began := time.Now()
			f := scripted(map[*driver.Script]any{script.Inspect: answer})
			_, err := admin.New(f, &admin.Options{Timeout: 3 * time.Second}).Revoke(t.Context(), "n", hash, "deploy")
			took := time.Since(began)
			if again := errors.Is(err, holdfast.ErrUnreachable); err == nil || again != (answer == any(errGone)) || again != (took > time.Second) || took > 3*time.Second {
				t.Errorf("%v: got %v after %v and %d calls", answer, err, took, len(f.calls))
			}
		}
	})
}
