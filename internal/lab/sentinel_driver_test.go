//go:build unix

package lab_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/redis/rueidis"
)

// A subscription to a master that froze ends when the store goes to the next
// one, though its connection stands and nobody asks it.
func TestDriverLeavesAFrozenMaster(t *testing.T) {
	guarded := redistest.Sentinel(t, 1)
	stores, subs := map[string]closer{}, map[string]driver.Subscription{}
	for _, d := range drivers {
		stores[d.name] = d.open(t, guarded.URL(), way{})
		subs[d.name] = subscribe(t, stores[d.name], "c", func(string) {})
		eval(t, stores[d.name], "return redis.call('SET', KEYS[1], 'v')", "k")
	}
	old := guarded.Master
	if err := old.Freeze(); err != nil {
		t.Fatal(err)
	}
	guarded.Promoted(t)
	eachDriver(t, func(t *testing.T, d library) {
		eventually(t, "the new master takes writes", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := stores[d.name].Eval(ctx, driver.Call{Script: lua("return redis.call('SET', KEYS[1], 'w')"), Keys: []string{"k"}})
			return err == nil
		})
		ended(t, subs[d.name])
		got := make(chan string, 1)
		subscribe(t, stores[d.name], "c", func(payload string) { got <- payload })
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
	store := openStore(t, guarded.URL(), func(o *rueidis.ClientOption) {
		o.SendToReplicas = func(c rueidis.Completed) bool { return c.IsReadOnly() }
	})
	for _, channel := range []string{"a", "b", "c", "d"} { // one of them may find the master by chance
		sub := subscribe(t, store, channel, func(string) {})
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
