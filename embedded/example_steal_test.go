package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/embedded"
)

// An operator takes a name from a holder that is stuck. Two believe that they have it
// until the old one hears of that: its token is what keeps its writes out.
func Example_steal() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	stuck, operator := holdfast.New(store, nil), holdfast.New(store, nil)
	defer stuck.Close()
	defer operator.Close()

	lease, err := stuck.Mutex("nightly").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := admin.Of(operator).Inspect(ctx, "nightly")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := admin.Of(operator).Steal(ctx, "nightly", state.Holder.Hash, "hangs since noon"); err != nil {
		fmt.Println(err)
		return
	}
	next, err := operator.Mutex("nightly").TryLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("free at once, with a higher token:", next.Token() > lease.Token())
	<-lease.Done()
	fmt.Println(lease.Err())
	fmt.Println(next.Release())
	// Output:
	// free at once, with a higher token: true
	// holdfast: lease of nightly lost: stolen: hangs since noon
	// <nil>
}
