package holdfast

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/holdfast-go/holdfast/driver"
)

// silent is a store that is never asked.
type silent struct{ driver.Store }

func (silent) Sharded() bool { return true }

// A Client that is dropped in a bubble is not closed from outside it: that would end the
// whole program, with a fatal error about a channel.
func TestClientDroppedInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := New(silent{}, nil)
		c, dropped := client.engine, weak.Make(client)
		client = nil
		for range 20 {
			runtime.GC()
			time.Sleep(time.Second)
		}
		if dropped.Value() != nil {
			t.Error("the Client was not collected")
		}
		if c.Closed() {
			t.Error("it was closed from outside the bubble")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
