//go:build unix

package many_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// lock_batch finds for each name how long its token is remembered, if that is shorter than by
// default: another Client may have set more for one of them.
func TestBatchTokenMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	const (
		short = "client.0123456789_m60000.5000|o"
		plain = "client.0123456789m.5000|o" // no mark: the nonce of each default id has 11 letters
	)
	server.MustDo(t, "SET", "F2", "1", "PX", (25 * time.Hour).Milliseconds())
	server.MustDo(t, "SET", "F3", "1", "PX", time.Second.Milliseconds())
	args := []any{"EVAL", script.LockBatch.Source, "15",
		"L1", "F1", "L2", "F2", "L3", "F3", "L4", "F4", "L5", "F5", "Q1", "Q2", "Q3", "Q4", "Q5",
		short, "5000", short, "5000", short, "5000", plain, "5000", short, ""}
	server.MustDo(t, args...)
	for fence, want := range map[string]time.Duration{"F1": time.Minute, "F2": 25 * time.Hour, "F3": time.Minute, "F4": 25 * time.Hour} {
		ms, _ := strconv.Atoi(server.MustDo(t, "PTTL", fence))
		if got := time.Duration(ms) * time.Millisecond; got < want-10*time.Second || got > want+time.Second {
			t.Errorf("%s lives for %v, want %v", fence, got, want)
		}
	}
}
