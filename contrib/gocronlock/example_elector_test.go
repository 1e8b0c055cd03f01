package gocronlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/gocronlock"
	"github.com/holdfast-go/holdfast/embedded"
)

// One scheduler runs all jobs. When it stops, the next one runs them.
func ExampleElector() {
	store, err := embedded.Open(nil) // in production: rueidisstore.Open("redis://host:6379", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	ran := make(chan int, 1000)
	var stop []func()
	for instance := range 2 { // in production each is a process
		client := holdfast.New(store, nil)
		defer client.Close()
		elector := gocronlock.NewElector(client, "scheduler")
		scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
		if err != nil {
			fmt.Println(err)
			return
		}
		task := elector.Task(func(context.Context, *holdfast.Lease) error {
			ran <- instance
			return nil
		})
		if _, err := scheduler.NewJob(gocron.DurationJob(50*time.Millisecond), gocron.NewTask(task)); err != nil {
			fmt.Println(err)
			return
		}
		scheduler.Start()
		for instance == 0 && elector.IsLeader(context.Background()) != nil {
			time.Sleep(time.Millisecond) // the first is to be the leader
		}
		stop = append(stop, func() {
			_ = scheduler.Shutdown()
			_ = elector.Close()
		})
	}
	fmt.Println("instance", <-ran)
	stop[0]()
	for <-ran == 0 {
		continue // what it ran before
	}
	fmt.Println("then the other")
	stop[1]()
	// Output:
	// instance 0
	// then the other
}
