// Package locking is the code of docs/guide/01-locking.md.
package locking

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
)

// payments is a resource that checks fencing tokens.
type payments interface {
	charge(ctx context.Context, token int64) error
}

func do(ctx context.Context, client *holdfast.Client, shop payments) error {
	return holdfast.Do(ctx, client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		return shop.charge(ctx, lease.Token())
	})
}

func lockAndRelease(ctx context.Context, client *holdfast.Client, shop payments) (err error) {
	lease, err := client.Mutex("invoice:42").Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	return shop.charge(lease.Context(ctx), lease.Token())
}

func hashed(client *holdfast.Client, url string) *holdfast.Mutex {
	hash := sha256.Sum256([]byte(url))
	mutex := client.Mutex("page:" + hex.EncodeToString(hash[:]))
	return mutex
}

func waitTwoSeconds(ctx context.Context, mutex *holdfast.Mutex) (*holdfast.Lease, error) {
	wait, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	lease, err := mutex.Lock(wait)
	switch {
	case errors.Is(err, holdfast.ErrUnreachable): // first: such an error can match both
		return nil, fmt.Errorf("it is unknown whether the name is locked: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("another process is still working on it: %w", err)
	}
	return lease, err
}

func tryOnce(ctx context.Context, mutex *holdfast.Mutex) (*holdfast.Lease, error) {
	lease, err := mutex.TryLock(ctx)
	if held, ok := errors.AsType[*holdfast.HeldError](err); ok {
		return nil, fmt.Errorf("%s is working on it, %d waiting", held.Owner, held.Waiters)
	}
	return lease, err
}

func limits(client *holdfast.Client) *holdfast.Mutex {
	mutex := client.Mutex("import")
	mutex.TTL = 30 * time.Second     // how long Redis keeps the lock of a dead process
	mutex.MaxHold = 10 * time.Minute // then the lease ends, also if the work hangs
	mutex.Grace = 5 * time.Second    // time for the work to stop before the next holder
	mutex.MinHold = time.Minute      // at most one grant per minute
	return mutex
}

func steps(ctx context.Context, lease *holdfast.Lease, todo []func(context.Context) error) error {
	ctx = lease.Context(ctx)
	for _, step := range todo {
		if err := step(ctx); err != nil {
			return err
		}
		if err := lease.Err(); err != nil {
			return err // the next step would run without the lock
		}
	}
	return nil
}

func send(ctx context.Context, lease *holdfast.Lease, mail func() error) error {
	if err := lease.EnsureHeld(ctx); err != nil {
		return err
	}
	return mail() // cannot be undone, and checks no token
}

func reason(ctx context.Context) string {
	lost, ok := errors.AsType[*holdfast.LostError](context.Cause(ctx))
	switch {
	case !ok:
		return "the caller cancelled the work"
	case lost.Cause == holdfast.Revoked:
		return "an operator asked us to stop: " + lost.Reason
	}
	return "the lease was lost: " + string(lost.Cause)
}

func nested(ctx context.Context, client *holdfast.Client, save func(context.Context) error) error {
	mutex := client.Mutex("account:7")
	mutex.Reentrant = true
	return holdfast.Do(ctx, mutex, func(ctx context.Context, _ *holdfast.Lease) error {
		return holdfast.Do(ctx, mutex, func(ctx context.Context, _ *holdfast.Lease) error {
			return save(ctx) // the same lease, the same token
		})
	})
}
