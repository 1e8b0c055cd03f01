//go:build unix

package lab_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// A Cluster before Redis 7 has no sharded channels. Locks that are free work
// there; the first that must wait ends with an error that says what is needed.
func TestClusterWithoutShardedChannels(t *testing.T) {
	nodes := cluster(redistest.ClusterOf(t, 3, 0, `rename-command SSUBSCRIBE ""`, `rename-command SPUBLISH ""`))
	eachDriver(t, func(t *testing.T, d library) {
		client := func(owner string) *holdfast.Client {
			c := holdfast.New(d.open(t, nodes.url(), way{}), &holdfast.Options{Owner: owner, TTL: 3 * time.Second})
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		holder, waiter := client("A"), client("B")
		lease := take(t, holder, "old-"+d.name)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		began := time.Now()
		second, err := waiter.Mutex("old-" + d.name).Lock(ctx)
		if err == nil {
			t.Fatalf("got a lease with token %d beside the holder", second.Token())
		}
		for _, want := range []string{"Redis 7", "SSUBSCRIBE"} {
			if !strings.Contains(strings.ToUpper(err.Error()), strings.ToUpper(want)) {
				t.Errorf("got %v, want it to name %s", err, want)
			}
		}
		if took := time.Since(began); took > patience/2 {
			t.Errorf("the error took %v", took)
		}
		t.Logf("after %v: %v", time.Since(began).Round(time.Millisecond), err)
		giveBack(t, lease)
		again := take(t, waiter, "old-"+d.name)
		giveBack(t, again)
	})
}
