package embedded_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// A Client that keeps an idle name for a second.
func Example_linger() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := holdfast.New(store, &holdfast.Options{Linger: time.Second})
	defer client.Close()

	for range 2 { // the second Lock sends no command
		lease, err := client.Mutex("shard:7").Lock(context.Background())
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(lease.Release())
	}
	// Output:
	// <nil>
	// <nil>
}
