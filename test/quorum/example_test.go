package quorum_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// It needs three servers, so it is built and not run.
func Example_quorum() {
	node := func(url string) driver.Store { // which may be off when the program starts
		return driver.Lazy(func() (driver.Store, error) { return rueidisstore.Open(url, nil) })
	}
	client := holdfast.NewQuorum("orders/1/3-5f3a9c0d1e", nil,
		node("redis://a:6379"), node("redis://b:6379"), node("redis://c:6379"))
	lease, err := client.Mutex("invoice:42").Lock(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lease.Token())
}
