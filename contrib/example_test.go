package contrib_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// every runs a job about once per interval, and among all processes that call it for
// this name never twice within one, until ctx ends.
func every(ctx context.Context, client *holdfast.Client, name string, interval time.Duration, job func(context.Context, *holdfast.Lease) error) {
	mutex := client.Mutex(name)
	mutex.MinHold = interval
	for wait := time.Duration(0); ; {
		select { // who comes first runs it: chance spreads the users over the processes
		case <-time.After(wait + rand.N(interval/20)):
		case <-ctx.Done():
			return
		}
		lease, err := mutex.TryLock(ctx)
		held, isHeld := errors.AsType[*holdfast.HeldError](err)
		switch {
		case isHeld: // another runs it, or has: the name rests
			wait, err = min(held.Remaining, interval), nil
		case err != nil: // nobody knows: soon again
			wait = min(interval, 5*time.Second)
		default:
			granted := time.Now()
			err = errors.Join(job(lease.Context(ctx), lease), lease.Release())
			wait = interval - time.Since(granted)
		}
		if err != nil && ctx.Err() == nil {
			log.Println(name, err)
		}
	}
}

// Thousands of users, each with an interval of their own, and no crontab: every
// process calls every for every user.
func Example() {
	store, err := embedded.Open(nil) // in production: rueidisstore.Open("redis://host:6379", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	const users = 50 // or thousands: each is a goroutine that sleeps
	var mu sync.Mutex
	runs, by := map[string]int{}, map[int]int{}
	start := func(ctx context.Context, process int, client *holdfast.Client, user string, interval time.Duration) (stop func()) {
		ctx, stop = context.WithCancel(ctx)
		go every(ctx, client, "digest:"+user, interval, func(context.Context, *holdfast.Lease) error {
			mu.Lock()
			defer mu.Unlock()
			runs[user]++
			by[process]++
			return nil
		})
		return stop
	}
	interval := func(user int) time.Duration { // as the user wants it
		return time.Second/2 + time.Duration(user)*time.Millisecond
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	for process := range 2 { // in production each has this part for itself
		client := holdfast.New(store, nil)
		defer client.Close()
		for user := range users {
			start(ctx, process, client, fmt.Sprint("user-", user), interval(user))
		}
		start(ctx, process, client, "who left", time.Second)()       // stop ends it
		defer start(ctx, process, client, "who came", time.Second)() // at run time
	}
	for all := false; !all && time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		all = runs["who came"] >= 2
		for user := range users {
			all = all && runs[fmt.Sprint("user-", user)] >= 3
		}
		mu.Unlock()
	}
	cancel()

	mu.Lock()
	defer mu.Unlock()
	for user := range users {
		got, most := runs[fmt.Sprint("user-", user)], 1+int(time.Since(began)/interval(user))
		if got < 3 || got > most {
			fmt.Println(user, "ran", got, "times, want at most", most)
		}
	}
	fmt.Println("who came is served:", runs["who came"] >= 2)
	fmt.Println("both processes work:", by[0] > 0 && by[1] > 0)
	// Output:
	// who came is served: true
	// both processes work: true
}
