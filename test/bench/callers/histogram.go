package callers

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const longest = 2 * time.Minute

// newHistogram holds durations from a nanosecond to the longest, to three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longest), 3) }

// recorder gathers the durations of all callers of a process.
type recorder struct {
	mu        sync.Mutex
	histogram *hdrhistogram.Histogram // guarded by mu
}

func newRecorder() *recorder { return &recorder{histogram: newHistogram()} }

// encode is the histogram as text, for the parent.
func (r *recorder) encode() []byte {
	text, _ := r.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase) // a buffer in memory takes all
	return text
}

// notes are one caller's durations on their way to the recorder. They take little memory
// however long the run, and the recorder's mutex once in a while.
type notes struct {
	to    *recorder
	few   [256]time.Duration
	n     int
	count int
}

func (s *notes) add(d time.Duration) {
	s.few[s.n] = min(max(d, 1), longest)
	s.n++
	s.count++
	if s.n == len(s.few) {
		s.flush()
	}
}

func (s *notes) flush() {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	for _, d := range s.few[:s.n] {
		_ = s.to.histogram.RecordValue(int64(d)) // in range, so no error
	}
	s.n = 0
}

// micros reads a quantile in microseconds.
func micros(h *hdrhistogram.Histogram, percent float64) float64 {
	return float64(h.ValueAtQuantile(percent)) / 1e3
}
