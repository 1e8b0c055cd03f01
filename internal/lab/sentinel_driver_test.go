//go:build unix

package lab_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// A subscription to a master that froze ends when the store goes to the next
// one, though its connection stands and nobody asks it.
func TestDriverLeavesAFrozenMaster(t *testing.T) {
	guarded := redistest.Sentinel(t, 1)
	stores, subs := map[string]closer{}, map[string]holdfast.Subscription{}
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
	eachDriver(t, func(t *testing.T, d driver) {
		eventually(t, "the new master takes writes", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := stores[d.name].Eval(ctx, holdfast.Call{Script: lua("return redis.call('SET', KEYS[1], 'w')"), Keys: []string{"k"}})
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
