package cronlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/cronlock"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/robfig/cron/v3"
)

// Two instances have the same job, and each tick runs on one of them.
func ExampleOnceEvery() {
	store, err := embedded.Open(nil) // in production: rueidisstore.Open("redis://host:6379", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	ran := make(chan string, 10)
	for _, instance := range []string{"a", "b"} {
		client := holdfast.New(store, &holdfast.Options{Owner: instance})
		defer client.Close()
		once := cronlock.OnceEvery(client, "report", time.Hour, time.Time{}, &cronlock.Options{Logger: cron.DiscardLogger})
		job := once(cronlock.Func(func(ctx context.Context, lease *holdfast.Lease) error {
			ran <- instance
			return nil
		}))
		job.Run() // as cron does at each tick: cron.New().AddJob("@hourly", job)
	}
	fmt.Println(<-ran, len(ran))
	// Output: a 0
}

// Two instances have the same job, and one of them runs it. The other finds the name
// held or in cool-down. Here the cool-down is longer than the interval, so that the job
// runs only once.
func ExampleSkipIfHeld() {
	store, err := embedded.Open(nil) // in production: rueidisstore.Open("redis://host:6379", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	ran := make(chan string, 10)
	for _, instance := range []string{"a", "b"} {
		client := holdfast.New(store, &holdfast.Options{Owner: instance})
		defer client.Close()
		skip := cronlock.SkipIfHeld(client.Mutex("report"), &cronlock.Options{MinHold: time.Minute, Logger: cron.DiscardLogger})
		c := cron.New()
		c.Schedule(cron.Every(time.Second), cron.NewChain(skip).Then(cronlock.Func(func(ctx context.Context, lease *holdfast.Lease) error {
			ran <- instance // under ctx, which ends with the lease, and with lease.Token()
			return nil
		})))
		c.Start()
		defer func() { <-c.Stop().Done() }()
	}
	<-ran
	select {
	case <-ran:
		fmt.Println("both ran it")
	case <-time.After(2 * time.Second):
		fmt.Println("one ran it")
	}
	// Output: one ran it
}

// Both instances run, one after the other.
func ExampleDelayIfHeld() {
	store, err := embedded.Open(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	done := make(chan int, 2)
	working := 0 // no mutex: the job is under the lock
	for range 2 {
		client := holdfast.New(store, nil)
		defer client.Close()
		job := cronlock.DelayIfHeld(client.Mutex("cleanup"), nil)(cronlock.Func(func(context.Context, *holdfast.Lease) error {
			working++
			done <- working
			working--
			return nil
		}))
		go job.Run() // as cron does at each tick
	}
	fmt.Println(<-done, <-done)
	// Output: 1 1
}
