package clienttest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Cluster is a Redis Cluster of masters only.
type Cluster []*redistest.Server

// URL names all nodes.
func (c Cluster) URL() string {
	addresses := make([]string, len(c))
	for i, node := range c {
		addresses[i] = node.Addr()
	}
	return "cluster://" + strings.Join(addresses, ",")
}

// Do runs a command where its key lives.
func (c Cluster) Do(t testing.TB, args ...any) string {
	t.Helper()
	for _, node := range c {
		text, err := node.Do(args...)
		if refused, ok := errors.AsType[redistest.Error](err); ok && strings.HasPrefix(string(refused), "MOVED ") {
			continue
		}
		if err != nil {
			t.Fatalf("%v on %s: %v", args, node.Addr(), err)
		}
		return text
	}
	t.Fatalf("%v: no node takes it", args)
	return ""
}

// InQueue waits until exactly these owners stand in the queue, in this order.
func (c Cluster) InQueue(t testing.TB, name string, want ...string) {
	t.Helper()
	inQueue(t, func() string { return c.Do(t, "ZRANGE", QueueKey(name), 0, -1) }, want)
}

// Idle waits until no name is held or waited for, and nobody listens.
func (c Cluster) Idle(t testing.TB) {
	t.Helper()
	Eventually(t, "only fences are left, and no channel", func() bool {
		for _, node := range c {
			if node.MustDo(t, "PUBSUB", "SHARDCHANNELS") != "" {
				return false
			}
			for key := range strings.FieldsSeq(node.MustDo(t, "KEYS", "*")) {
				if !strings.HasPrefix(key, "holdfast/fence:") {
					return false
				}
			}
		}
		return true
	})
	Eventually(t, "no connection is in subscribed state", func() bool {
		for _, node := range c {
			for line := range strings.Lines(node.MustDo(t, "CLIENT", "LIST")) {
				if strings.Contains(line, "name=holdfast") && !strings.Contains(line, " ssub=0") {
					return false
				}
			}
		}
		return true
	})
}

// Clients are Clients with both drivers.
func (c Cluster) Clients(t testing.TB, linger time.Duration, owners ...string) []*holdfast.Client {
	t.Helper()
	var clients []*holdfast.Client
	for i, owner := range owners {
		store := Drivers[i%len(Drivers)].Open(t, c.URL(), Way{})
		client := holdfast.New(store, &holdfast.Options{Owner: owner, TTL: Long, Linger: linger})
		t.Cleanup(func() { _ = client.Close() })
		clients = append(clients, client)
	}
	return clients
}

// HoldfastOn makes a Client with a driver, which ends with the test.
func HoldfastOn(t testing.TB, d Library, url, owner string) *holdfast.Client {
	t.Helper()
	c := holdfast.New(d.Open(t, url, Way{}), &holdfast.Options{Owner: owner, TTL: Long})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Of is the index of the node that has the slot of a name. On a busy machine the nodes may
// believe for a while that the Cluster is down, and refuse everything.
func (c Cluster) Of(t testing.TB, name string) int {
	t.Helper()
	i := -1
	Eventually(t, "a master has "+name, func() bool {
		i = slices.IndexFunc(c, func(node *redistest.Server) bool {
			_, err := node.Do("EXISTS", LockKey(name))
			return err == nil
		})
		return i >= 0
	})
	return i
}
