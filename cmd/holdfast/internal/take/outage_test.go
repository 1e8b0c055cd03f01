package take

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The words about an outage come once each, and none about a short one.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, refused := 0, errors.New("refused")
		o := &Outage{say: func(string, ...any) { said++ }}
		wantSaid := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if said != want {
				t.Errorf("%s: said %d messages, want %d", when, said, want)
			}
		}
		o.Failed(refused, 0)
		o.answered()
		o.answered()
		wantSaid("after a blip", 0)
		o.Failed(refused, 10*time.Millisecond)
		time.Sleep(time.Second)
		wantSaid("after a second", 1)
		o.Failed(refused, 0)
		o.Overdue(0)
		o.answered()
		o.answered()
		wantSaid("after an answer", 2)
		o.Failed(refused, 0)
		o.End()
		o.speak() // as if the timer was on its way
		wantSaid("after the end", 2)
	})
}
