package embedded_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
)

// The short pieces of README.md.
func Example_readme() {
	client := newClient()
	defer client.Close()
	ctx := context.Background()
	charge := func(_ context.Context, token int64) error { fmt.Println("charged:", token > 0); return nil }
	render := func(context.Context) error { fmt.Println("rendered"); return nil }
	schedule := func(_ context.Context, token int64) error { fmt.Println("scheduled:", token > 0); return nil }
	report := func(context.Context) error { fmt.Println("reported"); return nil }

	// One holder at a time. ctx ends if the lease is lost.
	err := holdfast.Do(ctx, client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		return charge(ctx, lease.Token())
	})
	printError(err)

	// At most four at a time, over all processes.
	err = holdfast.Do(ctx, client.Semaphore("render", 4).Permits(1), func(ctx context.Context, _ *holdfast.Lease) error {
		return render(ctx)
	})
	printError(err)

	// One leader. If it loses the election, it campaigns again.
	err = holdfast.Lead(ctx, client.Election("scheduler"), "10.0.0.7:8080", func(ctx context.Context, term *holdfast.Lease) error {
		return schedule(ctx, term.Token())
	})
	printError(err)

	// Once for each hour, although each machine calls it. The other calls return ErrNotDue.
	err = client.OnceEvery(ctx, "report", time.Hour, time.Time{}, func(ctx context.Context, _ *holdfast.Lease) error {
		return report(ctx)
	})
	printError(err)
	// Output:
	// charged: true
	// rendered
	// scheduled: true
	// reported
}

func printError(err error) {
	if err != nil {
		fmt.Println(err)
	}
}
