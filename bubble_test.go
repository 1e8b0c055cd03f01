package holdfast

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// A Client that is dropped in a bubble is not closed from outside it: that would end the
// whole program, with a fatal error about a channel.
func TestClientDroppedInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := New(&cut{}, nil)
		c, dropped := client.core, weak.Make(client)
		client = nil
		for range 20 {
			runtime.GC()
			time.Sleep(time.Second)
		}
		if dropped.Value() != nil {
			t.Error("the Client was not collected")
		}
		if c.isClosed() {
			t.Error("it was closed from outside the bubble")
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
}
