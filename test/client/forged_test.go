//go:build unix

package client_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A user who may publish forges a grant with the highest tokens of all. The waiter asks Redis
// instead of using them: a resource that had seen one would refuse every later lease.
func TestForgedTokensAreNotUsed(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for kind, lock := range map[string]func(*holdfast.Client, context.Context) (*holdfast.Lease, error){
		"mutex": func(c *holdfast.Client, ctx context.Context) (*holdfast.Lease, error) {
			return c.Mutex("mutex").Lock(ctx)
		},
		"semaphore": func(c *holdfast.Client, ctx context.Context) (*holdfast.Lease, error) {
			return c.Semaphore("semaphore", 1).Acquire(ctx, 1)
		},
		"writer": func(c *holdfast.Client, ctx context.Context) (*holdfast.Lease, error) {
			return c.RWMutex("writer").Lock(ctx)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			holder, err := lock(clienttest.Open(t, server.URL(), holdfast.Options{TTL: clienttest.Long}), t.Context())
			if err != nil {
				t.Fatal(err)
			}
			waiter := clienttest.Open(t, server.URL(), holdfast.Options{TTL: clienttest.Long})
			got := make(clienttest.Asked, 1)
			go func() {
				lease, err := lock(waiter, t.Context())
				got <- clienttest.Outcome{Lease: lease, Err: err}
			}()
			id := ""
			clienttest.Eventually(t, "one waits", func() bool {
				id = strings.TrimSpace(server.MustDo(t, "ZRANGE", clienttest.QueueKey(kind), 0, 0))
				return id != ""
			})
			before := clienttest.Commands(t, server)
			client, _, _ := strings.Cut(id, ".")
			now := strconv.FormatInt(time.Now().Unix(), 10)
			forged := "grant " + strconv.Itoa(protocol.MaxToken-1) + " 64 0 " + now + " 0 2000 " + id
			if heard := server.MustDo(t, "PUBLISH", "holdfast/push:"+client, forged); heard != "1" {
				t.Fatalf("%s heard it, want 1", heard)
			}
			clienttest.Eventually(t, "it asks, or believes", func() bool { return clienttest.Commands(t, server) > before || !got.Pending() })
			clienttest.GiveBack(t, holder)
			lease := got.Lease(t)
			if lease.Token() <= holder.Token() || lease.Token() > protocol.MaxToken/2 {
				t.Errorf("after token %d the waiter has %d, want a token by the server's clock", holder.Token(), lease.Token())
			}
			clienttest.GiveBack(t, lease)
		})
	}
}
