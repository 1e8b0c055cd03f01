package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// newClient is a Client on an embedded store; for production use
// rueidisstore.Open("redis://…", nil).
func newClient() *holdfast.Client {
	store, err := embedded.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	return holdfast.New(store, nil)
}

// At most ten exports at a time, over all processes, where a big one counts for
// four.
func Example_semaphore() {
	client := newClient()
	defer client.Close()
	ctx := context.Background()

	exports := client.Semaphore("exports", 10)
	lease, err := exports.Acquire(ctx, 4) // waits its turn; ctx bounds the wait
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lease.Release() }()

	_, err = exports.TryAcquire(ctx, 8) // does not wait
	fmt.Println(errors.Is(err, holdfast.ErrHeld))
	_, err = exports.Acquire(ctx, 11)
	fmt.Println(err)
	// Output:
	// true
	// holdfast: bad number of permits: asked for 11 of exports, which has 10
}

// More permits, while others hold and wait.
func Example_semaphoreResize() {
	client := newClient()
	defer client.Close()
	ctx := context.Background()

	exports := client.Semaphore("exports", 10)
	lease, err := exports.Acquire(ctx, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lease.Release() }()
	if err := exports.Resize(ctx, 12); err != nil {
		fmt.Println(err)
	}
	more, err := exports.TryAcquire(ctx, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = more.Release() }()

	old := client.Semaphore("exports", 10) // it has not heard of that, and is served by the new size
	if err := more.Release(); err != nil {
		fmt.Println(err)
	}
	more, err = old.TryAcquire(ctx, 2)
	fmt.Println(err)
	// Output: <nil>
}

// A job needs fewer permits for the rest of its work.
func Example_keep() {
	client := newClient()
	defer client.Close()
	ctx := context.Background()

	exports := client.Semaphore("exports", 10)
	lease, err := exports.Acquire(ctx, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lease.Release() }()
	fmt.Println(lease.Keep(2)) // the other 8 are free
	other, err := exports.TryAcquire(ctx, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(other.Release())
	// Output:
	// <nil>
	// <nil>
}

// What was written is read again before another writer can change it.
func Example_downgrade() {
	client := newClient()
	defer client.Close()
	ctx := context.Background()

	config := client.RWMutex("config")
	lease, err := config.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lease.Release() }()
	// write
	fmt.Println(lease.Downgrade()) // from here on other readers read, too
	_, err = config.TryLock(context.Background())
	fmt.Println("another writer:", err == nil)
	// read what was written
	// Output:
	// <nil>
	// another writer: false
}

// Any number of readers, or one writer.
func Example_rwmutex() {
	client := newClient()
	defer client.Close()
	ctx := context.Background()

	config := client.RWMutex("config")
	err := holdfast.Do(ctx, config.RLocker(), func(ctx context.Context, _ *holdfast.Lease) error {
		other, err := config.TryRLock(context.Background()) // another reader, perhaps elsewhere
		if err != nil {
			return err
		}
		defer func() { _ = other.Release() }()
		_, err = config.TryLock(context.Background())
		fmt.Println("a writer among readers:", err != nil)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	err = holdfast.Do(ctx, config, func(ctx context.Context, lease *holdfast.Lease) error {
		fmt.Println("a writer alone:", lease.Err() == nil)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// a writer among readers: true
	// a writer alone: true
}
