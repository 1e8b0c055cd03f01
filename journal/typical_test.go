package journal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// released is a journal with these holds of the name n.
type released struct {
	driver.Store
	holds []time.Duration // in seconds
	err   error
	calls int
}

func (r *released) Eval(context.Context, driver.Call) ([]string, error) {
	r.calls++
	if r.err != nil {
		return nil, r.err
	}
	reply := []string{"read", itoa(time.Now().UnixMicro()), "", "", itoa(int64(len(r.holds))), "1-0"}
	for i, held := range r.holds {
		e := Entry{Event: Released, Name: "n", Writer: "w", Seq: int64(i), Held: held * time.Second, At: time.Now()}
		reply = append(append(reply, itoa(e.At.UnixMilli())+"-0"), e.encode()...)
	}
	return reply, nil
}

// TypicalHolds reads once a minute, and keeps what it knows if it cannot read.
func TestTypicalHoldsReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &released{holds: []time.Duration{1, 2, 3}}
		typical := TypicalHolds(store, "")
		step := func(what string, want time.Duration, calls int) {
			t.Helper()
			if got, ok := typical("n"); got != want*time.Second || ok != (want > 0) || store.calls != calls {
				t.Errorf("%s: got %v, %v after %d calls, want %d s after %d", what, got, ok, store.calls, want, calls)
			}
		}
		step("at first", 2, 1)
		store.holds = []time.Duration{7, 8, 9}
		time.Sleep(time.Minute - 1)
		step("within a minute", 2, 1)
		time.Sleep(time.Nanosecond)
		step("after a minute", 8, 2)
		store.err = driver.ServerError("NOPERM")
		time.Sleep(time.Minute)
		step("without the right to read", 8, 3)
		store.err, store.holds = nil, nil
		time.Sleep(time.Minute)
		step("of a journal that is gone", 0, 4)

		long := &released{holds: make([]time.Duration, pageSize)}
		TypicalHolds(long, "")("n")
		if long.calls != typicalPages {
			t.Errorf("read %d pages of a long journal, want %d", long.calls, typicalPages)
		}

		hangs := TypicalHolds(&released{err: errors.New("connection refused")}, "")
		began := time.Now()
		if _, ok := hangs("n"); ok || time.Since(began) > typicalWait {
			t.Errorf("without an answer it took %v, want %v at most", time.Since(began), typicalWait)
		}
	})
}
