package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

func Example() {
	store, err := embedded.Open(nil) // for production: rueidisstore.Open("redis://…", nil)
	if err != nil {
		log.Fatal(err)
	}
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
	// Output: charged once
}
