package gocronlock_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/gocronlock"
	"github.com/holdfast-go/holdfast/embedded"
)

// Each of many users has another schedule. Every instance of the program has all
// schedules, and one instance runs the job of a tick. Each instance needs one round
// trip per tick. The instance that runs the job needs two more. The example of package
// contrib does the same without gocron, in thirty lines.
func Example() {
	store, err := embedded.Open(nil) // in production: rueidisstore.Open("redis://host:6379", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	const users = 200 // or thousands
	reported := make(chan int, 2*users)
	report := func(user int) func(context.Context, *holdfast.Lease) error {
		return func(context.Context, *holdfast.Lease) error {
			reported <- user
			return nil
		}
	}
	start := time.Now().Add(5 * time.Second)
	for range 2 { // instances: in production each is a process
		client := holdfast.New(store, nil)
		defer client.Close()
		locker := gocronlock.NewLocker(client, &gocronlock.Options{MinHold: time.Minute})
		scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = scheduler.Shutdown() }()
		for user := range users {
			every := time.Hour + time.Duration(user)*time.Minute // the interval of this user
			job := fmt.Sprint("report:", user)
			_, err := scheduler.NewJob(gocron.DurationJob(every), gocron.NewTask(locker.Task(job, report(user))),
				gocron.WithName(job), gocron.WithStartAt(gocron.WithStartDateTime(start)))
			if err != nil {
				fmt.Println(err)
				return
			}
		}
		scheduler.Start()
	}

	var each sync.Map
	for n := range users {
		if _, twice := each.LoadOrStore(<-reported, n); twice {
			fmt.Println("a user twice")
		}
	}
	fmt.Println("each user once")
	// Output: each user once
}
