package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/embedded"
)

// An operator asks whoever holds a name to stop.
func Example_revoke() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	worker, operator := holdfast.New(store, nil), holdfast.New(store, nil)
	defer worker.Close()
	defer operator.Close()

	lease, err := worker.Mutex("nightly").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	work := lease.Context(ctx)

	state, err := admin.Of(operator).Inspect(ctx, "nightly")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := admin.Of(operator).Revoke(ctx, "nightly", state.Holder.Hash, "db-3 is being drained"); err != nil {
		fmt.Println(err)
		return
	}

	<-work.Done() // nobody else has the name yet: there is time to stop
	fmt.Println(context.Cause(work))
	reason, _ := lease.Revoked()
	fmt.Println(reason)
	if err := lease.Release(); errors.Is(err, holdfast.ErrLost) {
		fmt.Println("now the next one may")
	}
	// Output:
	// holdfast: lease of nightly lost: revoked: db-3 is being drained
	// db-3 is being drained
	// now the next one may
}

// A process gives its lease to the one that replaces it.
func Example_export() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	old, successor := holdfast.New(store, nil), holdfast.New(store, nil)
	defer old.Close()
	defer successor.Close()

	lease, err := old.Mutex("leader").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := lease.Export() // a secret: whoever has it can take the lock
	if err != nil {
		fmt.Println(err)
		return
	}

	adopted, err := successor.Adopt(ctx, text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(adopted.Token() > lease.Token(), lease.Err())
	_, err = old.Adopt(ctx, text)
	fmt.Println(errors.Is(err, holdfast.ErrLost), adopted.Release())
	// Output:
	// true holdfast: lease of leader lost: exported
	// true <nil>
}

// Before something that can't be undone, and that checks no token.
func Example_ensureHeld() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client := holdfast.New(store, nil)
	defer client.Close()

	lease, err := client.Mutex("launch").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := store.Do("DEL", "holdfast:launch"); err != nil { // an accident
		fmt.Println(err)
		return
	}
	fmt.Println(lease.Err())
	fmt.Println(lease.EnsureHeld(ctx))
	// Output:
	// <nil>
	// holdfast: lease of launch lost: gone
}
