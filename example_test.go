package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// The examples of this package are compiled and not run, since they need a server.
// Those of package embedded run without one.

// store connects to the servers: store, err := rueidisstore.Open("redis://localhost:6379", nil)
var store driver.Store

// client locks names: client := holdfast.New(store, nil)
var client *holdfast.Client

// db is the database that the work under a lock writes to.
var db *sql.DB

func Example() {
	// store, err := rueidisstore.Open("redis://localhost:6379", nil)
	client := holdfast.New(store, nil)
	defer client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel() // the timeout bounds the wait for the lock, and here the work, too

	err := holdfast.Do(ctx, client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		// ctx ends when the lease is lost. The database refuses an old token.
		return pay(ctx, 42, lease.Token())
	})
	if err != nil {
		log.Print(err)
	}
}

// One Client serves a whole program. A store connects it to Redis or Valkey.
func ExampleNew() {
	// store, err := rueidisstore.Open("redis://localhost:6379", nil)
	client := holdfast.New(store, &holdfast.Options{
		Prefix: "billing:",       // the lock "invoice:42" has the key "billing:invoice:42"
		TTL:    10 * time.Second, // a crashed holder blocks others for at most 10 s
	})
	defer client.Close() // releases the leases that are still held
}

// Three independent servers: locks go on while one of them is down.
func ExampleNewQuorum() {
	var nodes []driver.Store
	for _, url := range []string{"redis://a:6379", "redis://b:6379", "redis://c:6379"} {
		nodes = append(nodes, driver.Lazy(func() (driver.Store, error) {
			return open(url) // return rueidisstore.Open(url, nil)
		}))
	}
	// "holdfast quorum init" prints the quorum-id once.
	client := holdfast.NewQuorum(os.Getenv("QUORUM"), nil, nodes...)
	defer client.Close()
}

// An error of Do is the error of the function, or of the lock.
func ExampleDo() {
	err := holdfast.Do(context.Background(), client.Mutex("invoice:42"),
		func(ctx context.Context, lease *holdfast.Lease) error {
			return pay(ctx, 42, lease.Token())
		})
	switch {
	case errors.Is(err, holdfast.ErrLost):
		log.Print("the lease ended before the work did: ", err)
	case err != nil:
		log.Print(err)
	}
}

// The context of Lock bounds the wait for the lock. It does not end the lease.
func ExampleMutex_Lock() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	lease, err := client.Mutex("invoice:42").Lock(ctx)
	if err != nil {
		log.Print(err) // a WaitError after 5 s: it names the holder, or says that Redis does not answer
		return
	}
	if err := pay(lease.Context(context.Background()), 42, lease.Token()); err != nil {
		log.Print(err)
	}
	if err := lease.Release(); err != nil {
		log.Print(err)
	}
}

// A wait that ends says why. Test for ErrUnreachable first: a name that Redis says nothing
// about is not busy.
func ExampleWaitError() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()

	lease, err := client.Mutex("invoice:42").Lock(ctx)
	var wait *holdfast.WaitError
	switch {
	case errors.Is(err, holdfast.ErrUnreachable):
		log.Print("unknown whether it is held: ", err)
		return
	case errors.As(err, &wait):
		log.Printf("%s holds it, our place in the queue is %d", wait.Owner, wait.Position)
		return
	case err != nil:
		log.Print(err)
		return
	}
	defer func() { log.Print("released: ", lease.Release()) }()
}

// TryLock does not wait. A HeldError names the holder.
func ExampleMutex_TryLock() {
	lease, err := client.Mutex("report").TryLock(context.Background())
	var held *holdfast.HeldError
	if errors.As(err, &held) {
		fmt.Printf("%s holds it for another %v\n", held.Owner, held.Remaining)
		return
	}
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { log.Print("released: ", lease.Release()) }()
}

// Work that takes this context stops when the lease is lost.
func ExampleLease_Context() {
	lease, err := client.Mutex("import").Lock(context.Background())
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { log.Print("released: ", lease.Release()) }()

	ctx := lease.Context(context.Background())
	if _, err := db.ExecContext(ctx, "CALL import()"); err != nil {
		log.Print(err, ": ", context.Cause(ctx)) // the cause is a *LostError if the lease was lost
	}
}

// The database keeps the highest token that it has seen, and refuses a lower one.
func ExampleLease_Token() {
	write := func(ctx context.Context, lease *holdfast.Lease) error {
		result, err := db.ExecContext(ctx,
			"UPDATE stock SET amount = amount - 3, token = $1 WHERE id = 42 AND token <= $1", lease.Token())
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return fmt.Errorf("a newer holder has written: %w", errors.Join(holdfast.ErrStale, err))
		}
		return nil
	}
	if err := holdfast.Do(context.Background(), client.Mutex("stock:42"), write); err != nil {
		log.Print(err)
	}
}

// A check before a step that cannot be undone and takes no token.
func ExampleLease_EnsureHeld() {
	send := func(ctx context.Context, lease *holdfast.Lease) error {
		if err := lease.EnsureHeld(ctx); err != nil {
			return err
		}
		return run(ctx, "send-mail")
	}
	if err := holdfast.Do(context.Background(), client.Mutex("mail"), send); err != nil {
		log.Print(err)
	}
}

// A lease that is not renewed by itself: the program extends it when the work makes progress.
func ExampleLease_Extend() {
	mutex := client.Mutex("import")
	mutex.TTL, mutex.NoRenew = time.Minute, true
	err := holdfast.Do(context.Background(), mutex, func(ctx context.Context, lease *holdfast.Lease) error {
		for part := range 10 {
			if err := lease.Extend(ctx, time.Minute); err != nil {
				return err
			}
			if err := pay(ctx, part, lease.Token()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}

// Redis runs the script only while the lease is held there.
func ExampleLease_Eval() {
	take := func(ctx context.Context, lease *holdfast.Lease) error {
		left, err := lease.Eval(ctx, `return redis.call('DECRBY', KEYS[1], ARGV[1])`,
			[]string{"stock:42"}, []string{"3"})
		if err != nil {
			return err
		}
		fmt.Println("left:", left[0])
		return nil
	}
	if err := holdfast.Do(context.Background(), client.Mutex("stock"), take); err != nil {
		log.Print(err)
	}
}

// Logs every lease that this process loses.
func ExampleEvent() {
	client := holdfast.New(store, &holdfast.Options{OnEvent: func(event holdfast.Event) {
		switch e := event.(type) {
		case holdfast.Lost:
			log.Printf("lost %q after %v: %s", e.Name, e.Held, e.Cause)
		case holdfast.RenewFailed:
			log.Printf("renewal of %q failed, %v left: %v", e.Name, e.Remaining, e.Err)
		case holdfast.Dropped:
			log.Printf("%d events were dropped", e.N)
		}
	}})
	defer client.Close()
}

// The process of a Client can say more about itself than its Owner.
func ExampleOptions() {
	details := holdfast.ProcessDetails() // host, pid, user, program
	details.Note = "team billing, runbook 7"
	client := holdfast.New(store, &holdfast.Options{
		Owner:   "billing-3",
		Details: details,
		Linger:  time.Second, // keeps an idle name for 1 s, for the next Lock of this process
		OnEvent: func(e holdfast.Event) { log.Printf("%T %+v", e, e) },
	})
	defer client.Close()
}

// pay stands for the work under a lock.
func pay(ctx context.Context, invoice int, token int64) error {
	_, err := db.ExecContext(ctx,
		"UPDATE invoices SET paid = true, token = $2 WHERE id = $1 AND token <= $2", invoice, token)
	return err
}

// open stands for rueidisstore.Open(url, nil).
func open(url string) (driver.Store, error) { return nil, fmt.Errorf("no driver for %s", url) }
