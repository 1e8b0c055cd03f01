package exported_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/exported"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
)

// store answers the scripts in turn, after a round trip.
type store struct {
	driver.Store
	replies   [][]string
	acked     int
	roundTrip time.Duration
	ran       []*driver.Script
}

func (s *store) Sharded() bool { return false }

func (s *store) Eval(_ context.Context, call driver.Call) ([]string, error) {
	time.Sleep(s.roundTrip)
	s.ran = append(s.ran, call.Script)
	reply := s.replies[0]
	s.replies = s.replies[1:]
	return reply, nil
}

func (s *store) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	reply, err := s.Eval(ctx, calls[0])
	return []driver.Result{{Reply: reply}}, s.acked, err
}

func callsOn(t *testing.T, s *store) *exported.Calls {
	t.Helper()
	began := time.Now()
	keys, err := keyspace.KeysOf("holdfast:", "n")
	if err != nil {
		t.Fatal(err)
	}
	return &exported.Calls{
		Hold: exported.Hold{Prefix: "holdfast:", Name: "n", ID: "c.n.15000|host:1", Token: 7, Last: 9}, Keys: keys, Patience: 15 * time.Second,
		Caller: &call.Caller{Store: s, Life: t.Context(), Attempt: 2 * time.Second, Clock: clock.New(func() time.Duration { return time.Since(began) })},
	}
}

func causeOf(err error) string {
	ended, ok := errors.AsType[*exported.Ended](err)
	if !ok {
		return ""
	}
	return ended.Cause
}

// The times of an answer count from its request, and each ending has its cause.
func TestInspect(t *testing.T) {
	for name, test := range map[string]struct {
		reply     []string
		roundTrip time.Duration
		cause     string
		remaining time.Duration // 0: an error
	}{
		"stands":          {reply: []string{"stands", "10000", "3", "1"}, roundTrip: 100 * time.Millisecond, remaining: clock.Deadline(0, 10*time.Second).Sub(clock.Instant(100 * time.Millisecond))},
		"without expiry":  {reply: []string{"stands", "-1", "3", "1"}, remaining: clock.Deadline(0, 15*time.Second).Sub(0)},
		"nearly over":     {reply: []string{"stands", "1", "3", "1"}, cause: exported.Expired},
		"the answer late": {reply: []string{"stands", "1000", "3", "1"}, roundTrip: 1500 * time.Millisecond},
		"gone":            {reply: []string{"lost", "", "1"}, cause: exported.Gone},
		"taken":           {reply: []string{"lost", "d.n.15000|host:2", "1"}, cause: exported.Taken},
		"adopted":         {reply: []string{"adopted", "d.n.15000|host:2", "1"}, cause: exported.Taken},
		"revoked":         {reply: []string{"revoked", "deploy"}, cause: exported.Revoked},
		"stolen":          {reply: []string{"stolen", "deploy"}, cause: exported.Stolen},
		"garbled":         {reply: []string{"told", "1"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			state, err := callsOn(t, &store{replies: [][]string{test.reply}, roundTrip: test.roundTrip}).Inspect(t.Context())
			switch {
			case test.remaining == 0:
				if err == nil || causeOf(err) != test.cause {
					t.Errorf("%s: got %+v, %v, want the cause %q", name, state, err, test.cause)
				}
			case err != nil || state.Remaining != test.remaining || state.Waiting != 3 || state.Owner != "host:1":
				t.Errorf("%s: got %+v, %v, want %v to remain", name, state, err, test.remaining)
			}
		})
	}
}

// A renewal counts when enough replicas have acknowledged it.
func TestRenewWaitsForReplicas(t *testing.T) {
	stands := []string{"stands", "10000", "0", "1"}
	for acked, want := range map[int]bool{1: false, 2: true} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{replies: [][]string{stands, stands}, acked: acked}
			_, err := callsOn(t, s).Renew(t.Context(), 2)
			if _, few := errors.AsType[*exported.Unacknowledged](err); few == want || len(s.ran) != 2 {
				t.Errorf("%d of 2 replicas: got %v after %d scripts", acked, err, len(s.ran))
			}
		})
	}
}

func TestRelease(t *testing.T) {
	stands, notHeld := []string{"stands", "10000", "0", "1"}, []string{"not held", "", "1"}
	for name, test := range map[string]struct {
		replies  [][]string
		released bool
		cause    string
	}{
		"held":              {replies: [][]string{stands, {"again", "1"}, {"released", "", ""}}, released: true},
		"over before":       {replies: [][]string{{"lost", "", "1"}}, cause: exported.Gone},
		"revoked":           {replies: [][]string{{"revoked", ""}, notHeld}, released: true, cause: exported.Revoked},
		"released twice":    {replies: [][]string{stands, notHeld, {"lost", "", "1"}}},
		"adopted meanwhile": {replies: [][]string{stands, notHeld, {"adopted", "d.n.15000|host:2", "1"}}, cause: exported.Taken},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{replies: test.replies}
			released, err := callsOn(t, s).Release(t.Context())
			if released != test.released || causeOf(err) != test.cause || (err != nil) != (test.cause != "") {
				t.Errorf("%s: got %v, %v, want %v and the cause %q", name, released, err, test.released, test.cause)
			}
			if len(s.replies) > 0 || s.ran[0] != script.Exported {
				t.Errorf("%s: ran %d scripts, and %d answers are left", name, len(s.ran), len(s.replies))
			}
		})
	}
}
