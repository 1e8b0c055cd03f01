//go:build unix

package elect

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/guard"
)

// The pause before the next term grows while the command does not last. It starts from
// the beginning when the command lasts. After a loss there is no pause.
func TestElectPauses(t *testing.T) {
	var b backoff
	short, long := time.Millisecond, time.Hour
	for i, step := range []struct {
		lasted time.Duration
		lost   bool
		want   time.Duration
	}{
		{short, false, time.Second},
		{short, false, 2 * time.Second},
		{short, true, 0},
		{short, false, 4 * time.Second},
		{short, false, 8 * time.Second},
		{short, false, 16 * time.Second},
		{short, false, 30 * time.Second},
		{short, false, 30 * time.Second},
		{long, false, time.Second},
		{short, false, 2 * time.Second},
	} {
		var end guard.Ending
		if step.lost {
			end.Lost = errLostForTest
		}
		if got := b.after(step.lasted, end); got != step.want {
			t.Errorf("pause %d: got %v, want %v", i, got, step.want)
		}
	}
}

var errLostForTest = errors.New("lost")
