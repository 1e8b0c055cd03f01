package drivers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func TestDriverCluster(t *testing.T) {
	nodes := redistest.Cluster(t, 3, 1)
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		store := d.Open(t, "cluster://"+nodes[0].Addr()+","+nodes[1].Addr(), clienttest.Way{})
		if !store.Sharded() {
			t.Fatal("a cluster that is not sharded")
		}
		if auto := d.Open(t, nodes[2].URL(), clienttest.Way{}); !auto.Sharded() {
			t.Error("redis:// did not notice the cluster")
		}

		calls := make([]driver.Call, 200)
		for i := range calls {
			calls[i] = driver.Call{Script: clienttest.Lua("return {redis.call('SET', KEYS[1], ARGV[1]), KEYS[1]}"), Keys: []string{fmt.Sprint("k", i)}, Args: []string{"v"}}
		}
		for i, result := range store.EvalAll(t.Context(), calls) {
			if want := []string{"OK", fmt.Sprint("k", i)}; result.Err != nil || !slices.Equal(result.Reply, want) {
				t.Fatalf("call %d: got %q, %v", i, result.Reply, result.Err)
			}
		}
		for i := range 20 {
			_, err := store.Eval(t.Context(), calls[i])
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, node := range nodes {
			stats, err := node.CommandStats()
			if err != nil {
				t.Fatal(err)
			}
			if got := stats["command"]; got > 0 {
				t.Errorf("%d times COMMAND, want none: it is a right of its own", got)
			}
		}

		seen := map[string]bool{}
		for key, err := range store.Scan(t.Context(), "k*") {
			if err != nil {
				t.Fatal(err)
			}
			seen[key] = true
		}
		if len(seen) != 200 {
			t.Errorf("scan: got %d keys, want 200", len(seen))
		}

		got := make(chan string, 10)
		for i := range 10 { // in different slots
			channel := fmt.Sprintf("c:{%d}", i)
			sub := clienttest.Subscribe(t, store, channel, func(payload string) { got <- payload })
			publish := "return redis.call('SPUBLISH', ARGV[1], 'to ' .. ARGV[1])"
			call := driver.Call{Script: clienttest.Lua(publish), Keys: []string{channel}, Args: []string{channel}}
			heard, err := store.Eval(t.Context(), call)
			if err != nil || !slices.Equal(heard, []string{"1"}) {
				t.Fatalf("%s: heard by %q, %v", channel, heard, err)
			}
			if message := <-got; message != "to "+channel {
				t.Errorf("got %q on %s", message, channel)
			}
			if err := sub.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// When a slot moves, the old node ends the subscription, and the new one takes it.
func TestDriverSlotMoves(t *testing.T) {
	nodes := redistest.Cluster(t, 3, 0)
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		store := d.Open(t, "cluster://"+nodes[0].Addr(), clienttest.Way{})
		channel := "c:{moving}:" + d.Name // a server may not know yet that the driver before has gone
		sub := clienttest.Subscribe(t, store, channel, func(string) {})

		slot := nodes[0].MustDo(t, "CLUSTER", "KEYSLOT", channel)
		from, to := -1, -1
		var said []string
		for i, node := range nodes {
			said = append(said, node.MustDo(t, "PUBSUB", "SHARDNUMSUB", channel))
			if strings.HasSuffix(said[i], "1") {
				from, to = i, (i+1)%len(nodes)
			}
		}
		if from < 0 {
			t.Fatalf("the nodes know of the subscription: %q, want that one has 1", said)
		}
		target := nodes[to].MustDo(t, "CLUSTER", "MYID")
		nodes[to].MustDo(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", nodes[from].MustDo(t, "CLUSTER", "MYID"))
		nodes[from].MustDo(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", target)
		for _, node := range []*redistest.Server{nodes[to], nodes[from], nodes[3-from-to]} {
			node.MustDo(t, "CLUSTER", "SETSLOT", slot, "NODE", target)
		}
		clienttest.Ended(t, sub)

		got := make(chan string, 1)
		clienttest.Subscribe(t, store, channel, func(payload string) { got <- payload }) // at the first try, redirected
		nodes[to].MustDo(t, "SPUBLISH", channel, "hello")
		if message := <-got; message != "hello" {
			t.Errorf("got %q", message)
		}
	})
}

func TestDriverSentinel(t *testing.T) {
	t.Parallel()
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		watched := redistest.Sentinel(t, 1)
		addresses := make([]string, len(watched.Sentinels))
		for i, sentinel := range watched.Sentinels {
			addresses[i] = sentinel.Addr()
		}
		store := d.Open(t, "sentinel://"+strings.Join(addresses, ",")+"/"+redistest.SentinelMaster, clienttest.Way{})
		sub := clienttest.Subscribe(t, store, "c", func(string) {})
		clienttest.Eval(t, store, "return redis.call('SET', KEYS[1], 'v')", "k")
		watched.Master.Kill()
		clienttest.Ended(t, sub)
		clienttest.Eventually(t, "the new master takes writes and subscriptions", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := store.Eval(ctx, driver.Call{Script: clienttest.Lua("return redis.call('SET', KEYS[1], 'w')"), Keys: []string{"k"}}); err != nil {
				return false
			}
			sub, err := store.Subscribe(ctx, "c", func(string) {})
			if err != nil {
				return false
			}
			sub.Close()
			return true
		})
		if got := watched.Replicas[0].MustDo(t, "GET", "k"); got != "w" {
			t.Errorf("got %q on the new master", got)
		}
	})
}
