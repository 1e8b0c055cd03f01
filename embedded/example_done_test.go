package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fence"
)

// Instead of a latch: each worker is a reader while it works, so a writer gets the
// name when all are done, or dead. Which of the two, only the results tell.
func Example_allDone() {
	client := newClient()
	defer client.Close()
	ctx := context.Background()
	work := client.RWMutex("import:7")

	var mu sync.Mutex // protects what follows; elsewhere this is a database
	var gate fence.Gate
	results := map[string]string{}
	store := func(piece, result string, token int64) error {
		mu.Lock()
		defer mu.Unlock()
		if err := gate.Advance(piece, token); err != nil {
			return err // it was frozen, and another has done it since
		}
		results[piece] = result
		return nil
	}

	pieces := []string{"a", "b", "c"}
	var begun sync.WaitGroup // who has not begun is not waited for
	begun.Add(len(pieces))
	for _, piece := range pieces {
		go func() { // a process, in production
			_ = holdfast.Do(ctx, work.RLocker(), func(_ context.Context, lease *holdfast.Lease) error {
				begun.Done()
				if piece == "b" {
					return errors.New("as if it had crashed")
				}
				return store(piece, "done", lease.Token())
			})
		}()
	}
	begun.Wait()

	err := holdfast.Do(ctx, work, func(_ context.Context, lease *holdfast.Lease) error {
		for _, piece := range pieces {
			mu.Lock()
			err := gate.Advance(piece, lease.Token()) // first: now nothing of a worker can come any more
			done := results[piece]
			mu.Unlock()
			if err != nil {
				return err
			}
			if done == "" {
				fmt.Println(piece, "was not done: do it again")
				err = store(piece, "done again", lease.Token())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println(results, err)
	// Output:
	// b was not done: do it again
	// map[a:done b:done again c:done] <nil>
}
