package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"time"

	"github.com/holdfast-go/holdfast"
)

// At most 20 processes use the printers at a time.
func ExampleSemaphore() {
	printers := client.Semaphore("printers", 20)
	err := holdfast.Do(context.Background(), printers.Permits(1),
		func(ctx context.Context, _ *holdfast.Lease) error { return run(ctx, "print") })
	if err != nil {
		log.Print(err)
	}
}

// A caller takes several permits and gives some back early.
func ExampleSemaphore_Acquire() {
	lease, err := client.Semaphore("cores", 64).Acquire(context.Background(), 8)
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { log.Print("released: ", lease.Release()) }()

	if err := run(lease.Context(context.Background()), "compile"); err != nil {
		log.Print(err)
		return
	}
	if err := lease.Keep(1); err != nil { // 7 permits are free for others
		log.Print(err)
	}
}

// Many processes read; one writes.
func ExampleRWMutex() {
	config := client.RWMutex("config")
	ctx := context.Background()

	read := func(ctx context.Context, _ *holdfast.Lease) error { return run(ctx, "read") }
	if err := holdfast.Do(ctx, config.RLocker(), read); err != nil {
		log.Print(err)
	}
	write := func(ctx context.Context, lease *holdfast.Lease) error { return pay(ctx, 42, lease.Token()) }
	if err := holdfast.Do(ctx, config, write); err != nil {
		log.Print(err)
	}
}

// One process builds the report. All others wait until the name is free, without taking it one after
// the other.
func ExampleRWMutex_TryLock() {
	build := func(ctx context.Context) error { return run(ctx, "report") }
	built := func(ctx context.Context, report *holdfast.RWMutex) error {
		lease, err := report.TryLock(ctx)
		if err == nil { // nobody builds it
			return errors.Join(build(lease.Context(ctx)), lease.Release())
		}
		if !errors.Is(err, holdfast.ErrHeld) {
			return err
		}
		lease, err = report.RLock(ctx) // waits until the builder has released the name
		if err != nil {
			return err
		}
		return lease.Release() // the report is there, unless its builder failed
	}
	if err := built(context.Background(), client.RWMutex("report")); err != nil {
		log.Print(err)
	}
}

// A transfer locks both accounts. Two transfers never wait for each other in a circle.
func ExampleMulti() {
	accounts := client.Multi("account:7", "account:3")
	err := accounts.Do(context.Background(), func(ctx context.Context, lease *holdfast.MultiLease) error {
		if err := pay(ctx, 7, lease.Token("account:7")); err != nil {
			return err
		}
		return pay(ctx, 3, lease.Token("account:3"))
	})
	if err != nil {
		log.Print(err)
	}
}

// Campaign waits until this candidate leads. The lease is the term.
func ExampleElection_Campaign() {
	lease, err := client.Election("scheduler").Campaign(context.Background(), "10.0.0.7:8080")
	if err != nil {
		log.Print(err)
		return
	}
	if err := run(lease.Context(context.Background()), "schedule"); err != nil {
		log.Print(err)
	}
	if err := lease.Release(); err != nil { // resigns
		log.Print(err)
	}
}

// Observe follows the leader until ctx ends.
func ExampleElection_Observe() {
	for leader, err := range client.Election("scheduler").Observe(context.Background()) {
		switch {
		case err != nil:
			log.Print(err) // Observe goes on
		case leader.None():
			fmt.Println("nobody leads")
		default:
			fmt.Println(leader.Value, "leads, term", leader.Term)
		}
	}
}

// Lead runs a function while this process leads, and campaigns again after a loss.
func ExampleLead() {
	err := holdfast.Lead(context.Background(), client.Election("scheduler"), "10.0.0.7:8080",
		func(ctx context.Context, _ *holdfast.Lease) error {
			return run(ctx, "schedule") // returns when ctx ends
		})
	if err != nil {
		log.Print(err)
	}
}

// Each machine calls Once as often as it likes. The function runs at most once an hour.
func ExampleClient_Once() {
	err := client.Once(context.Background(), "cleanup", time.Hour,
		func(ctx context.Context, _ *holdfast.Lease) error { return run(ctx, "cleanup") })
	var notDue *holdfast.NotDueError
	switch {
	case errors.As(err, &notDue):
		fmt.Println("due in", notDue.DueIn)
	case err != nil:
		log.Print(err)
	}
}

// Cron calls this on each machine at 3:00. One machine makes the backup.
func ExampleClient_OnceEvery() {
	three := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	err := client.OnceEvery(context.Background(), "backup", 24*time.Hour, three,
		func(ctx context.Context, _ *holdfast.Lease) error { return run(ctx, "backup") })
	if err != nil && !errors.Is(err, holdfast.ErrNotDue) {
		log.Print(err)
	}
}

// A process starts its successor and hands over the lock. The name is never free.
func ExampleLease_Export() {
	lease, err := client.Mutex("ingest").Lock(context.Background())
	if err != nil {
		log.Print(err)
		return
	}
	text, err := lease.Export() // the lease ends here; the name stays locked
	if err != nil {
		log.Print(err)
		return
	}
	successor := exec.Command("ingest", "--adopt")
	successor.Env = append(os.Environ(), "LEASE="+text)
	if err := successor.Start(); err != nil {
		log.Print(err)
	}
}

// The successor continues the hold.
func ExampleClient_Adopt() {
	ctx := context.Background()
	lease, err := client.Adopt(ctx, os.Getenv("LEASE"))
	if errors.Is(err, holdfast.ErrLost) {
		lease, err = client.Mutex("ingest").Lock(ctx) // too late: wait like others
	}
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { log.Print("released: ", lease.Release()) }()
}

// LastRun shows when a job ran, where, and how it ended.
func ExampleClient_LastRun() {
	last, err := client.LastRun(context.Background(), "backup")
	switch {
	case errors.Is(err, holdfast.ErrNeverRan):
		fmt.Println("never")
	case err != nil:
		log.Print(err)
	case last.Outcome != holdfast.Done:
		fmt.Println("failed on", last.Owner, "at", last.Began)
	}
}

// A run that could not reach its target does not count. The next call runs it again.
func ExampleRetryable() {
	err := client.Once(context.Background(), "upload", time.Hour,
		func(ctx context.Context, _ *holdfast.Lease) error {
			if err := run(ctx, "ping-target"); err != nil {
				return holdfast.Retryable(err)
			}
			return run(ctx, "upload")
		})
	if err != nil && !errors.Is(err, holdfast.ErrNotDue) {
		log.Print(err)
	}
}

// The leader changes the value that others see.
func ExampleLease_Proclaim() {
	err := holdfast.Lead(context.Background(), client.Election("scheduler"), "starting",
		func(ctx context.Context, term *holdfast.Lease) error {
			if err := term.Proclaim(ctx, "10.0.0.7:8080"); err != nil {
				return err
			}
			return run(ctx, "schedule")
		})
	if err != nil {
		log.Print(err)
	}
}

// run stands for the work of a process.
func run(ctx context.Context, command string) error {
	return exec.CommandContext(ctx, command).Run()
}
