package call

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// dialTimeout is how long Subscribe may take.
const dialTimeout = 5 * time.Second

// Subscribe listens to a channel. It returns after 5 s, or when ctx ends, even if the
// driver does not: a subscription that comes later is closed.
func Subscribe(ctx context.Context, store driver.Store, channel string, message func(payload string)) (driver.Subscription, error) {
	type result struct {
		sub driver.Subscription
		err error
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	done := make(chan result)
	go func() {
		sub, err := store.Subscribe(ctx, channel, message)
		select {
		case done <- result{sub, err}:
		case <-ctx.Done():
			if err == nil {
				sub.Close()
			}
		}
	}()
	select {
	case r := <-done:
		return r.sub, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
