package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// One of many processes does what must be done once; the others know which.
func Example_election() {
	store, err := embedded.Open(nil) // for production: rueidisstore.Open("redis://…", nil)
	if err != nil {
		log.Fatal(err)
	}
	client := holdfast.New(store, nil)
	defer client.Close()
	election := client.Election("scheduler")

	// In every process; the value tells others where the leader is.
	err = holdfast.Lead(context.Background(), election, "10.0.0.3:8080",
		func(ctx context.Context, lease *holdfast.Lease) error {
			leader, err := election.Leader(ctx)
			fmt.Println(leader.Value, "leads:", leader.Term == lease.Token())
			return err // done with leading; ctx would end if the term were lost
		})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 10.0.0.3:8080 leads: true
}

// Who leads, now and whenever that changes.
func Example_observe() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := holdfast.New(store, nil)
	defer client.Close()
	election := client.Election("scheduler")
	lease, err := election.Campaign(context.Background(), "10.0.0.3:8080")
	if err != nil {
		log.Print(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for leader, err := range election.Observe(ctx) {
		switch {
		case err != nil:
			fmt.Println("nobody knows:", err) // it goes on
		case leader.None():
			fmt.Println("nobody leads")
			cancel()
		default:
			fmt.Println(leader.Value, "leads")
			go func() { _ = lease.Release() }() // it resigns
		}
	}
	// Output:
	// 10.0.0.3:8080 leads
	// nobody leads
}

// A leader changes what others see of it while it leads.
func Example_proclaim() {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := holdfast.New(store, nil)
	defer client.Close()
	ctx := context.Background()
	election := client.Election("scheduler")
	lease, err := election.Campaign(ctx, "10.0.0.3:8080")
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = lease.Release() }()
	if err := lease.Proclaim(ctx, "10.0.0.3:9090"); err != nil {
		log.Print(err)
		return
	}
	leader, err := election.Leader(ctx)
	fmt.Println(leader.Value, err)
	// Output: 10.0.0.3:9090 <nil>
}
