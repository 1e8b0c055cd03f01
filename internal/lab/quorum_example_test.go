package lab_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// It needs three servers, so it is built and not run.
func Example_quorum() {
	open := func(url string) holdfast.Store {
		store, err := rueidisstore.Open(url, nil)
		if err != nil {
			log.Fatal(err)
		}
		return store
	}
	a, b, c := open("redis://a:6379"), open("redis://b:6379"), open("redis://c:6379")
	client := holdfast.NewQuorum(&holdfast.Options{Quorum: "orders/1/3-5f3a9c0d1e"}, a, b, c)
	lease, err := client.Mutex("invoice:42").Lock(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lease.Token())
}
