//go:build unix

package drivers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/redis/rueidis"
)

// A subscription to a master that froze ends when the store goes to the next
// one, though its connection stands and nobody asks it.
func TestDriverLeavesAFrozenMaster(t *testing.T) {
	watched := redistest.Sentinel(t, 1)
	stores, subs := map[string]clienttest.Closer{}, map[string]driver.Subscription{}
	for _, d := range clienttest.Drivers {
		stores[d.Name] = d.Open(t, watched.URL(), clienttest.Way{})
		subs[d.Name] = clienttest.Subscribe(t, stores[d.Name], "c", func(string) {})
		clienttest.Eval(t, stores[d.Name], "return redis.call('SET', KEYS[1], 'v')", "k")
	}
	old := watched.Master
	if err := old.Freeze(); err != nil {
		t.Fatal(err)
	}
	watched.Promoted(t)
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		clienttest.Eventually(t, "the new master takes writes", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := stores[d.Name].Eval(ctx, driver.Call{Script: clienttest.Lua("return redis.call('SET', KEYS[1], 'w')"), Keys: []string{"k"}})
			return err == nil
		})
		clienttest.Ended(t, subs[d.Name])
		got := make(chan string, 1)
		clienttest.Subscribe(t, stores[d.Name], "c", func(payload string) { got <- payload })
		watched.Master.MustDo(t, "PUBLISH", "c", "hello")
		if message := <-got; message != "hello" {
			t.Errorf("got %q", message)
		}
	})
	redistest.ThawAll(t, old)
}

// A client that reads from a replica hears what the master publishes, and goes on
// to do so.
func TestDriverSubscribesOnTheMaster(t *testing.T) {
	watched := redistest.Sentinel(t, 1)
	store := clienttest.OpenStore(t, watched.URL(), func(o *rueidis.ClientOption) {
		o.SendToReplicas = func(c rueidis.Completed) bool { return c.IsReadOnly() }
	})
	for _, channel := range []string{"a", "b", "c", "d"} { // one of them may find the master by chance
		sub := clienttest.Subscribe(t, store, channel, func(string) {})
		if said := watched.Master.MustDo(t, "PUBSUB", "NUMSUB", channel); !strings.HasSuffix(said, "1") {
			t.Errorf("the master knows %q, want one subscriber", said)
		}
		select {
		case <-sub.Done():
			t.Errorf("the subscription to %s has ended", channel)
		case <-time.After(time.Second / 2): // it looks for the master five times meanwhile
		}
	}
}
