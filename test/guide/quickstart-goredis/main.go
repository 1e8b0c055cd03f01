// The quick start of README.md, on go-redis.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/redis/go-redis/v9"
)

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	if err := run(context.Background(), rdb); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rdb *redis.Client) error {
	client := holdfast.New(goredisstore.New(rdb), nil) // one Client for a process
	defer client.Close()
	return holdfast.Do(ctx, client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		fmt.Println("charging invoice 42, fencing token", lease.Token()) // ctx ends if the lease is lost
		return nil
	})
}
