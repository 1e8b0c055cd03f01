package main_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

func main() {
	store, err := embedded.Open(nil) // in production: rueidisstore.Open("redis://host:6379", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	client := holdfast.New(store, nil)
	defer client.Close()

	charge := func(ctx context.Context, token int64) error {
		fmt.Println("charged once")
		return ctx.Err()
	}
	err = holdfast.Do(context.Background(), client.Mutex("invoice:42"),
		func(ctx context.Context, lease *holdfast.Lease) error {
			// ctx ends when the lease is lost; the resource refuses older tokens.
			return charge(ctx, lease.Token())
		})
	if err != nil {
		fmt.Println(err)
	}
}

// The program of README.md, word for word but for its package.
func Example() {
	main()
	// Output: charged once
}
