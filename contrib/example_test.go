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

// every runs a job about once per interval until ctx ends. Among all processes that call
// it for this name, the job never runs twice within one interval.
func every(ctx context.Context, client *holdfast.Client, name string, interval time.Duration, job func(context.Context, *holdfast.Lease) error) {
	mutex := client.Mutex(name)
	mutex.MinHold = interval
	for wait := time.Duration(0); ; {
		select { // the first process runs the job: a random wait spreads the users over the processes
		case <-time.After(wait + rand.N(interval/20)):
		case <-ctx.Done():
			return
		}
		lease, err := mutex.TryLock(ctx)
		held, isHeld := errors.AsType[*holdfast.HeldError](err)
		switch {
		case isHeld: // another process runs the job, or has run it: the name is in cool-down
			wait, err = min(held.Remaining, interval), nil
		case err != nil: // unknown whether the name is held: try again soon
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

// Each of many users has another interval. Every process calls the function "every" for
// each user.
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
	interval := func(user int) time.Duration { // the interval of this user
		return time.Second/2 + time.Duration(user)*time.Millisecond
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	for process := range 2 { // in production each process runs the body of this loop once
		client := holdfast.New(store, nil)
		defer client.Close()
		for user := range users {
			start(ctx, process, client, fmt.Sprint("user-", user), interval(user))
		}
		stop := start(ctx, process, client, "removed user", time.Second)
		stop()
		defer start(ctx, process, client, "added user", time.Second)()
	}
	for all := false; !all && time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		all = runs["added user"] >= 2
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
	fmt.Println("the added user is served:", runs["added user"] >= 2)
	fmt.Println("both processes work:", by[0] > 0 && by[1] > 0)
	// Output:
	// the added user is served: true
	// both processes work: true
}
