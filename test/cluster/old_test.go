//go:build unix

package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A Cluster before Redis 7 has no sharded channels. Locks that are free work
// there; the first that must wait ends with an error that says what is needed.
func TestClusterWithoutShardedChannels(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0, `rename-command SSUBSCRIBE ""`, `rename-command SPUBLISH ""`))
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		client := func(owner string) *holdfast.Client {
			c := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{Owner: owner, TTL: 3 * time.Second})
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		holder, waiter := client("A"), client("B")
		lease := clienttest.Take(t, holder, "old-"+d.Name)
		ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
		defer cancel()
		began := time.Now()
		second, err := waiter.Mutex("old-" + d.Name).Lock(ctx)
		if err == nil {
			t.Fatalf("got a lease with token %d beside the holder", second.Token())
		}
		for _, want := range []string{"Redis 7", "SSUBSCRIBE"} {
			if !strings.Contains(strings.ToUpper(err.Error()), strings.ToUpper(want)) {
				t.Errorf("got %v, want it to name %s", err, want)
			}
		}
		if took := time.Since(began); took > clienttest.Patience/2 {
			t.Errorf("the error took %v", took)
		}
		t.Logf("after %v: %v", time.Since(began).Round(time.Millisecond), err)
		clienttest.GiveBack(t, lease)
		again := clienttest.Take(t, waiter, "old-"+d.Name)
		clienttest.GiveBack(t, again)
	})
}
