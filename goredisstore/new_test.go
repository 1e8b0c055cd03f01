package goredisstore_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/redis/go-redis/v9"
)

// What only servers can show is tested in test.

// A client that cannot do what a lock needs is a mistake in the program.
func TestNewRefuses(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	one := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = one.Close() }()
	hidden := struct{ redis.UniversalClient }{one} // without Options
	for name, client := range map[string]redis.UniversalClient{"nil": nil, "ring": ring, "hidden": hidden} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("New did not panic")
				}
			}()
			goredisstore.New(client)
		})
	}
}

// A client that embeds one of go-redis' is as good as that.
func TestNewTakesWhatEmbeds(t *testing.T) {
	type mine struct{ *redis.Client }
	type ours struct{ *redis.ClusterClient }
	one := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	many := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer func() { _, _ = one.Close(), many.Close() }()
	if goredisstore.New(mine{one}).Sharded() {
		t.Error("a single server is sharded")
	}
	if !goredisstore.New(ours{many}).Sharded() {
		t.Error("a cluster is not sharded")
	}
}
