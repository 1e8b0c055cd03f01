//go:build unix

package drivers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/labtest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/redis/rueidis"
)

// A subscription to a master that froze ends when the store goes to the next
// one, though its connection stands and nobody asks it.
func TestDriverLeavesAFrozenMaster(t *testing.T) {
	guarded := redistest.Sentinel(t, 1)
	stores, subs := map[string]labtest.Closer{}, map[string]driver.Subscription{}
	for _, d := range labtest.Drivers {
		stores[d.Name] = d.Open(t, guarded.URL(), labtest.Way{})
		subs[d.Name] = labtest.Subscribe(t, stores[d.Name], "c", func(string) {})
		labtest.Eval(t, stores[d.Name], "return redis.call('SET', KEYS[1], 'v')", "k")
	}
	old := guarded.Master
	if err := old.Freeze(); err != nil {
		t.Fatal(err)
	}
	guarded.Promoted(t)
	labtest.EachDriver(t, func(t *testing.T, d labtest.Library) {
		labtest.Eventually(t, "the new master takes writes", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := stores[d.Name].Eval(ctx, driver.Call{Script: labtest.Lua("return redis.call('SET', KEYS[1], 'w')"), Keys: []string{"k"}})
			return err == nil
		})
		labtest.Ended(t, subs[d.Name])
		got := make(chan string, 1)
		labtest.Subscribe(t, stores[d.Name], "c", func(payload string) { got <- payload })
		guarded.Master.MustDo(t, "PUBLISH", "c", "hello")
		if message := <-got; message != "hello" {
			t.Errorf("got %q", message)
		}
	})
	redistest.ThawAll(t, old)
}

// A client that reads from a replica hears what the master publishes, and goes on
// to do so.
func TestDriverSubscribesOnTheMaster(t *testing.T) {
	guarded := redistest.Sentinel(t, 1)
	store := labtest.OpenStore(t, guarded.URL(), func(o *rueidis.ClientOption) {
		o.SendToReplicas = func(c rueidis.Completed) bool { return c.IsReadOnly() }
	})
	for _, channel := range []string{"a", "b", "c", "d"} { // one of them may find the master by chance
		sub := labtest.Subscribe(t, store, channel, func(string) {})
		if said := guarded.Master.MustDo(t, "PUBSUB", "NUMSUB", channel); !strings.HasSuffix(said, "1") {
			t.Errorf("the master knows %q, want one subscriber", said)
		}
		select {
		case <-sub.Done():
			t.Errorf("the subscription to %s has ended", channel)
		case <-time.After(time.Second / 2): // it looks for the master five times meanwhile
		}
	}
}
