//go:build unix

package cluster_test

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

func channelOf(name string) string { return "holdfast/push:test:{" + clienttest.LockKey(name) + "}" }

// heard is a subscription and what it got.
type heard struct {
	driver.Subscription
	got chan string
}

func listenTo(t *testing.T, store driver.Store, name string) heard {
	t.Helper()
	got := make(chan string, 100)
	return heard{clienttest.Subscribe(t, store, channelOf(name), func(payload string) { got <- payload }), got}
}

// publishes says something on the channel of a name; it is all that the subscription gets.
func (h heard) publishes(t *testing.T, store driver.Store, name, payload string) {
	t.Helper()
	publish := "return redis.call('SPUBLISH', ARGV[1], ARGV[2])"
	reply, err := store.Eval(t.Context(), driver.Call{Script: clienttest.Lua(publish), Keys: []string{clienttest.LockKey(name)}, Args: []string{channelOf(name), payload}})
	if err != nil || !slices.Equal(reply, []string{"1"}) {
		t.Fatalf("heard by %q, %v; want 1", reply, err)
	}
	select {
	case got := <-h.got:
		if got != payload {
			t.Errorf("got %q, want %q", got, payload)
		}
	case <-time.After(clienttest.Patience):
		t.Errorf("%q did not arrive", payload)
	}
}

func (h heard) lives(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
	defer cancel()
	if err := h.Ping(ctx); err != nil {
		t.Error(err)
	}
}

// A slot that moves away ends the subscription to its own channel; the others on the
// connection stay.
func TestDriverSlotMovesAlone(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		store := d.Open(t, nodes.URL(), clienttest.Way{})
		names := together(t, nodes, "alone-"+d.Name, 3)
		home := nodes[nodes.Of(t, names[0])]
		subs := []heard{listenTo(t, store, names[0]), listenTo(t, store, names[1]), listenTo(t, store, names[2])}
		for i, sub := range subs {
			sub.publishes(t, store, names[i], names[i])
		}
		if got := listeners(t, clienttest.Cluster{home}); got[0] != 1 {
			t.Errorf("got %d connections, want 1", got[0])
		}
		nodes.MoveSlot(t, names[1], false, 0)
		clienttest.Ended(t, subs[1])
		for _, i := range []int{0, 2} {
			subs[i].lives(t)
			subs[i].publishes(t, store, names[i], "again")
		}
		listenTo(t, store, names[1]).publishes(t, store, names[1], "moved")
		if got := listeners(t, nodes); slices.Max(got) != 1 {
			t.Errorf("got %v connections, want 1 to a node at most", got)
		}
	})
}

// A subscription that is closed counts as no listener any more, gets nothing, and leaves
// the connection to the others.
func TestDriverLetsGo(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	for protocol, w := range clienttest.Protocols {
		t.Run(protocol, func(t *testing.T) {
			clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
				store := d.Open(t, nodes.URL(), w)
				names := together(t, nodes, "let-"+d.Name, 2)
				home := clienttest.Cluster{nodes[nodes.Of(t, names[0])]}
				stays, goes := listenTo(t, store, names[0]), listenTo(t, store, names[1])
				for range 10 {
					goes.Close()
					clienttest.Ended(t, goes)
					clienttest.Eventually(t, "nobody is counted", func() bool {
						return home[0].MustDo(t, "PUBSUB", "SHARDNUMSUB", channelOf(names[1])) == channelOf(names[1])+"\n0"
					})
					stays.publishes(t, store, names[0], "on")
					goes = listenTo(t, store, names[1])
					goes.publishes(t, store, names[1], "back")
				}
				stays.lives(t)
				goes.Close()
				stays.Close()
				clienttest.Eventually(t, "the connection ends", func() bool { return listeners(t, home)[0] == 0 })
			})
		})
	}
}

// A user who may not SUNSUBSCRIBE has a connection for each channel.
func TestDriverMayNotLetGo(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	p := clienttest.Place{Servers: nodes, Scheme: "cluster"}
	url := p.User(t, []string{"~*", "&*", "+@all", "-sunsubscribe"})
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		if said := clienttest.Complaints(t, d, url); !strings.Contains(strings.Join(said, "\n"), "+sunsubscribe") {
			t.Errorf("Check says %q, and nothing of +sunsubscribe", said)
		}
		store := d.Open(t, url, clienttest.Way{})
		names := together(t, nodes, "not-"+d.Name, 2)
		stays, goes := listenTo(t, store, names[0]), listenTo(t, store, names[1])
		goes.Close()
		clienttest.Ended(t, stays) // with the connection: Redis would count a listener
		stays, goes = listenTo(t, store, names[0]), listenTo(t, store, names[1])
		goes.Close()
		stays.lives(t)
		stays.publishes(t, store, names[0], "on")
		home := clienttest.Cluster{nodes[nodes.Of(t, names[0])]}
		clienttest.Eventually(t, "one connection is left", func() bool { return listeners(t, home)[0] == 1 })
	})
}

// A node that is frozen takes no subscription, and keeps nobody from other nodes. When it
// goes on, those that it had go on, and there are three connections to it at most.
func TestDriverFrozenNode(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0, "cluster-node-timeout 60000"))
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		store := d.Open(t, nodes.URL(), clienttest.Way{})
		names := together(t, nodes, "frozen-"+d.Name, 8)
		home := nodes[nodes.Of(t, names[0])]
		other := ""
		for i := 0; other == ""; i++ {
			if name := fmt.Sprint("other-", d.Name, i); nodes.Of(t, name) != nodes.Of(t, names[0]) {
				other = name
			}
		}
		first := listenTo(t, store, names[0])
		if err := home.Freeze(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = home.Thaw() }()
		failed := make(chan error, 8)
		for _, name := range names[1:] {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				sub, err := store.Subscribe(ctx, channelOf(name), func(string) {})
				if err == nil {
					sub.Close()
				}
				failed <- err
			}()
		}
		listenTo(t, store, other).publishes(t, store, other, "elsewhere")
		for range names[1:] {
			if err := <-failed; err == nil {
				t.Error("subscribed on a frozen node")
			}
		}
		if err := home.Thaw(); err != nil {
			t.Fatal(err)
		}
		first.lives(t)
		for _, name := range names[1:] {
			listenTo(t, store, name).publishes(t, store, name, "thawed")
		}
		first.publishes(t, store, names[0], "still")
		clienttest.Eventually(t, "few connections are left", func() bool { return listeners(t, clienttest.Cluster{home})[0] <= connectionsPerNode })
	})
}

// listeners counts the connections to each node that are in subscribed state.
func listeners(t *testing.T, nodes clienttest.Cluster) (counts []int) {
	t.Helper()
	for _, node := range nodes {
		counts = append(counts, strings.Count(node.MustDo(t, "CLIENT", "LIST", "TYPE", "pubsub"), "name="))
	}
	return counts
}

// together gives names that are on one node, in different slots.
func together(t *testing.T, nodes clienttest.Cluster, prefix string, n int) (names []string) {
	t.Helper()
	home := nodes.Of(t, prefix)
	for i := 0; len(names) < n; i++ {
		if name := fmt.Sprint(prefix, i); nodes.Of(t, name) == home {
			names = append(names, name)
		}
	}
	return names
}
