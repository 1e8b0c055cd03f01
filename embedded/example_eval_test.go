package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// A write to Redis that only a holder may do: the script runs in one step with
// the question whether the lease still may.
func ExampleStore_eval() {
	store, err := embedded.Open(nil) // for production: rueidisstore.Open("redis://…", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	client := holdfast.New(store, nil)
	defer client.Close()

	ctx := context.Background()
	lease, err := client.Mutex("stock:42").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	left, err := lease.Eval(ctx, `return redis.call('INCRBY', KEYS[1], ARGV[1])`, []string{"left:42"}, []string{"-3"})
	fmt.Println(left, err)

	fmt.Println(lease.Release())
	_, err = lease.Eval(ctx, `return redis.call('DEL', KEYS[1])`, []string{"left:42"}, nil)
	fmt.Println(errors.Is(err, holdfast.ErrReleased))
	// Output:
	// [-3] <nil>
	// <nil>
	// true
}
