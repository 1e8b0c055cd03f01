package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// window is what of a run of callers is measured.
type window struct{ from, to, stop time.Time }

// tally is what the callers of one process did.
type tally struct {
	Counts  []int         // acquisitions in the window, by caller
	Waits   []byte        // an encoded histogram of their waits in µs
	Longest time.Duration // wait, those that were cut by the end of the cell included
	Entered int64         // critical sections entered in all, outside the window too
	Seen    int64         // of those, entered while somebody was inside
	Failed  int64
	Failure string // the first one
}

// caller is one goroutine's part of it.
type caller struct {
	waits   []time.Duration
	longest time.Duration
	entered int64
	seen    int64
	failed  int64
	failure error
}

// drive lets the callers run until the window's stop and returns what they did.
func drive(s session, w workload, name string, in *critical, win window) tally {
	ctx, cancel := context.WithDeadline(context.Background(), win.stop)
	defer cancel()
	callers := make([]caller, w.callers)
	var wg sync.WaitGroup
	for i := range callers {
		own := name
		if !w.shared {
			own = fmt.Sprintf("%s:%d", name, i)
		}
		wg.Go(func() { callers[i].run(ctx, s, own, w, in, win) })
	}
	wg.Wait()
	return sum(callers)
}

func (c *caller) run(ctx context.Context, s session, name string, w workload, in *critical, win window) {
	for ctx.Err() == nil {
		asked := time.Now()
		release, err := s.lock(ctx, name)
		got := time.Now()
		if err != nil {
			if got.Before(win.to) {
				c.fail(err)
				time.Sleep(time.Millisecond) // what fails at once must not spin
				continue
			}
			c.longest = max(c.longest, got.Sub(asked))
			return // cut by the end
		}
		c.work(w, in)
		if err := release(); err != nil && got.Before(win.to) {
			c.fail(err)
		}
		if got.After(win.from) && got.Before(win.to) {
			c.waits = append(c.waits, got.Sub(asked))
		}
	}
}

func (c *caller) work(w workload, in *critical) {
	if w.shared {
		read, seen := in.enter()
		defer in.leave(read)
		c.entered++
		c.seen += seen
	}
	if w.work > 0 {
		time.Sleep(w.work)
	}
}

func (c *caller) fail(err error) {
	if c.failed++; c.failure == nil {
		c.failure = err
	}
}

func sum(callers []caller) tally {
	var t tally
	waits := newHistogram()
	for i := range callers {
		c := &callers[i]
		for _, wait := range c.waits {
			record(waits, wait)
			t.Longest = max(t.Longest, wait)
		}
		t.Counts = append(t.Counts, len(c.waits))
		t.Longest = max(t.Longest, c.longest)
		t.Entered += c.entered
		t.Seen += c.seen
		t.Failed += c.failed
		if t.Failure == "" && c.failure != nil {
			t.Failure = c.failure.Error()
		}
	}
	t.Waits, _ = waits.Encode(hdrhistogram.V2CompressedEncodingCookieBase) // a buffer in memory takes all
	return t
}

// newHistogram holds waits from a microsecond to a minute, to three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60e6, 3) }

func record(h *hdrhistogram.Histogram, wait time.Duration) {
	_ = h.RecordValue(min(max(wait.Microseconds(), 1), 60e6)) // in range, so no error
}
