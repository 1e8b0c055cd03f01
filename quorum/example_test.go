package quorum_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/quorum"
)

var a, b, c driver.Store // one for each master

// Three masters become a quorum. Its id is for holdfast.NewQuorum.
func ExampleInit() {
	members := []quorum.Member{{Address: "a:6379", Store: a}, {Address: "b:6379", Store: b}, {Address: "c:6379", Store: c}}
	id, err := quorum.Init(context.Background(), "orders", false, members...)
	if err != nil {
		log.Print(err)
		return
	}
	for _, node := range quorum.Inspect(context.Background(), members...) {
		fmt.Println(id, node.Address, node.VotesIn, node.Err)
	}
}
