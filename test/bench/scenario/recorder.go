package scenario

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Recorder gathers the durations of all callers of a process.
type Recorder struct {
	mu        sync.Mutex
	Histogram *hdrhistogram.Histogram // guarded by mu
}

const longest = 2 * time.Minute

// NewRecorder makes an empty one.
func NewRecorder() *Recorder { return &Recorder{Histogram: newHistogram()} }

// newHistogram holds durations from a nanosecond to the longest, to three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longest), 3) }

// encode is the histogram as text, for the parent.
func (r *Recorder) encode() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, _ := r.Histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase) // a buffer in memory takes all
	return text
}

// Notes are one caller's durations on their way to the recorder. They take
// little memory however long the run, and the recorder's mutex once in a while.
type Notes struct {
	To    *Recorder
	few   [256]time.Duration
	n     int
	count int
}

// Add notes a duration.
func (s *Notes) Add(d time.Duration) {
	s.few[s.n] = min(max(d, 1), longest)
	s.n++
	s.count++
	if s.n == len(s.few) {
		s.Flush()
	}
}

// Flush gives the recorder what it has not yet.
func (s *Notes) Flush() {
	s.To.mu.Lock()
	defer s.To.mu.Unlock()
	for _, d := range s.few[:s.n] {
		_ = s.To.Histogram.RecordValue(int64(d)) // in range, so no error
	}
	s.n = 0
}

// Quantile reads a quantile in microseconds.
func Quantile(h *hdrhistogram.Histogram, percent float64) float64 {
	return float64(h.ValueAtQuantile(percent)) / 1e3
}
