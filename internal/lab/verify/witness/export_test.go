package witness

import (
	"testing"
	"time"
)

// Impatient lets Watch's stop wait for so long during a test.
func Impatient(t *testing.T, wait time.Duration) {
	usual := patience
	patience = wait
	t.Cleanup(func() { patience = usual })
}
