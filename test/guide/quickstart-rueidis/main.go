// The quick start of README.md, on rueidis.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
)

func main() {
	rdb, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}, PipelineMultiplex: -1, DisableCache: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), rdb); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rdb rueidis.Client) error {
	client := holdfast.New(rueidisstore.New(rdb), nil) // one Client for a process
	defer client.Close()
	return holdfast.Do(ctx, client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		fmt.Println("charging invoice 42, fencing token", lease.Token()) // ctx ends if the lease is lost
		return nil
	})
}
