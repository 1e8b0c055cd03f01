package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// A transfer needs both accounts, whoever asks for them in which order.
func Example_multi() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := holdfast.New(store, nil)
	defer client.Close()

	from, to := "account:7", "account:3"
	err = client.Multi(from, to).Do(context.Background(),
		func(ctx context.Context, lease *holdfast.MultiLease) error {
			// ctx ends when either is lost; each resource has a token of its own.
			fmt.Println(lease.Names(), lease.Token(from) > 0, lease.Token(to) > 0)
			return ctx.Err()
		})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [account:3 account:7] true true
}
