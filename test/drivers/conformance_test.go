package drivers_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// The embedded store is a store as any other.
func TestEmbeddedConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	t.Parallel()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	drivertest.Run(t, func(*testing.T) driver.Store { return store })
}

// The lock works through each driver wherever Redis may run.
func TestDriversConform(t *testing.T) {
	t.Parallel()
	plain := redistest.Start(t, redistest.Options{})
	limited := redistest.Start(t, redistest.Options{
		// What a lock needs and no more, but DEL for the suite.
		ACL: []string{"user app on >pw resetchannels &holdfast/push:* ~storetest-* ~holdfast/* -@all +evalsha +eval +subscribe +scan " +
			"+time +get +getrange +set +del +pttl +pexpire +zadd +zrem +zrange +zrank +zcard +exists +memory|usage +zscore +hmget +hset +hstrlen +zcount +zremrangebyrank +unlink +publish +pubsub +wait"},
	})
	cluster := redistest.Cluster(t, 3, 0)
	places := []struct {
		name, url string
		way       clienttest.Way
	}{
		{"plain", plain.URL(), clienttest.Way{}},
		{"RESP2", plain.URL() + "/1", clienttest.Way{RESP2: true}},
		{"limited", "redis://app:pw@" + limited.Addr(), clienttest.Way{}},
		{"cluster", "cluster://" + cluster[0].Addr(), clienttest.Way{}},
	}
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		t.Parallel()
		for _, place := range places {
			t.Run(place.name, func(t *testing.T) {
				t.Parallel() // each has a prefix of its own
				drivertest.Run(t, func(t *testing.T) driver.Store { return d.Open(t, place.url, place.way) })
			})
		}
	})
}
