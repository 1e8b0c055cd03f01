package drivers_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/redis/go-redis/v9"
)

// measured counts what passes, as an instrumented client does, and has nothing but what
// goredisstore.Client asks for.
type measured struct {
	client interface {
		Process(ctx context.Context, cmd redis.Cmder) error
		Pipeline() redis.Pipeliner
	}
	commands, pipelines *atomic.Int64
}

func (c measured) Process(ctx context.Context, cmd redis.Cmder) error {
	c.commands.Add(1)
	return c.client.Process(ctx, cmd)
}

func (c measured) Pipeline() redis.Pipeliner {
	c.pipelines.Add(1)
	return c.client.Pipeline()
}

type measuredSingle struct {
	measured
	options func() *redis.Options
}

func (c measuredSingle) Options() *redis.Options { return c.options() }

type measuredCluster struct {
	measured
	cluster *redis.ClusterClient // not embedded: what it has beside these stays hidden
}

func (c measuredCluster) Options() *redis.ClusterOptions { return c.cluster.Options() }
func (c measuredCluster) ReloadState(ctx context.Context) {
	c.cluster.ReloadState(ctx)
}

func (c measuredCluster) MasterForKey(ctx context.Context, key string) (*redis.Client, error) {
	return c.cluster.MasterForKey(ctx, key)
}

func (c measuredCluster) ForEachMaster(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	return c.cluster.ForEachMaster(ctx, do)
}

// A client needs no method beside those that goredisstore.Client names.
func TestGoRedisWrappersConform(t *testing.T) {
	t.Parallel()
	var commands, pipelines atomic.Int64
	one := redis.NewClient(&redis.Options{Addr: redistest.Start(t, redistest.Options{}).Addr(), ContextTimeoutEnabled: true})
	many := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{redistest.Cluster(t, 3, 0)[0].Addr()}, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _, _ = one.Close(), many.Close() })
	clients := map[string]goredisstore.Client{
		"single":  measuredSingle{measured{one, &commands, &pipelines}, one.Options},
		"cluster": measuredCluster{measured{many, &commands, &pipelines}, many},
	}
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			commands.Store(0)
			pipelines.Store(0)
			store := goredisstore.New(client)
			t.Cleanup(func() { _ = store.Close() })
			drivertest.Run(t, func(*testing.T) driver.Store { return store })
			if commands.Load() == 0 || pipelines.Load() == 0 {
				t.Errorf("the wrapper saw %d commands and %d pipelines; it has to see both", commands.Load(), pipelines.Load())
			}
		})
	}
}
