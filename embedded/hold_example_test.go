package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// Every machine calls this from its crontab; one of them runs it.
func Example_once() {
	store, err := embedded.Open(nil) // for production: rueidisstore.Open("redis://…", nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, machine := range []string{"web-1", "web-2"} {
		client := holdfast.New(store, &holdfast.Options{Owner: machine})
		defer client.Close()

		err := client.Once(context.Background(), "report", 12*time.Hour, func(ctx context.Context, lease *holdfast.Lease) error {
			fmt.Println(machine, "sends the report")
			return nil
		})
		notDue, ok := errors.AsType[*holdfast.NotDueError](err)
		switch {
		case ok && notDue.Last != nil:
			fmt.Println(machine, "learns:", notDue.Last.Owner, "ran it:", notDue.Last.Outcome)
		case err != nil:
			log.Println(err)
		}
	}
	// Output:
	// web-1 sends the report
	// web-2 learns: web-1 ran it: done
}

// A name rests after a quick holder.
func Example_minHold() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := holdfast.New(store, nil)
	defer client.Close()

	mutex := client.Mutex("siren")
	mutex.MinHold = time.Minute // sounds at most once a minute
	err = holdfast.Do(context.Background(), mutex, func(context.Context, *holdfast.Lease) error {
		return nil
	})
	if err != nil {
		log.Println(err)
	}
	_, err = mutex.TryLock(context.Background())
	held, ok := errors.AsType[*holdfast.HeldError](err)
	fmt.Println(ok && held.Cooldown)
	// Output: true
}

// A lease that lasts too long ends, and its context says why.
func Example_maxHold() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := holdfast.New(store, nil)
	defer client.Close()

	mutex := client.Mutex("import")
	mutex.MaxHold = 50 * time.Millisecond
	err = holdfast.Do(context.Background(), mutex, func(ctx context.Context, _ *holdfast.Lease) error {
		<-ctx.Done() // work that hangs
		return context.Cause(ctx)
	})
	lost, ok := errors.AsType[*holdfast.LostError](err)
	fmt.Println(ok && lost.Cause == holdfast.MaxHold)
	// Output: true
}

// A lease that nobody renews ends at a fixed time, unless it is extended.
func Example_noRenew() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := holdfast.New(store, nil)
	defer client.Close()

	ctx := context.Background()
	mutex := client.Mutex("report")
	mutex.TTL, mutex.NoRenew = 10*time.Second, true
	lease, err := mutex.Lock(ctx)
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = lease.Release() }()
	if err := lease.Extend(ctx, time.Minute); err != nil { // more to do than was thought
		log.Print(err)
		return
	}
	left, err := lease.CheckHeld(ctx)
	fmt.Println(left.Round(10*time.Second), err)
	// Output: 1m0s <nil>
}
