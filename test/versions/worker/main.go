// Worker is one of several processes that want one name, again and again. The test of a rolling
// deploy builds it twice, the second time with a later version of the protocol.
//
//	worker URL NAME FILE
//
// It prints each end of a call as one line: "granted TOKEN", "refused TEXT" or "failed TEXT". While it
// holds the name, FILE exists. It ends with an error if FILE exists when it gets the name.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

const (
	patience = 5 * time.Second // far more than a call takes
	work     = 5 * time.Millisecond
	pause    = 10 * time.Millisecond
	again    = 30 * time.Millisecond // after a refusal
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // stop has nothing to do any more
	}
}

func run(ctx context.Context, url, name, file string) error {
	store, err := rueidisstore.Open(url, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	client := holdfast.New(store, &holdfast.Options{TTL: 3 * time.Second})
	for ctx.Err() == nil {
		wait, err := turn(client, name, file)
		if err != nil {
			return err
		}
		time.Sleep(wait)
	}
	return client.Close()
}

// turn takes the name once. The context is not that of the signal: a deploy lets a call end.
func turn(client *holdfast.Client, name, file string) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lease, err := client.Mutex(name).Lock(ctx)
	switch {
	case errors.Is(err, holdfast.ErrVersion):
		fmt.Println("refused", err)
		return again, nil
	case err != nil:
		fmt.Println("failed", err)
		return again, nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fmt.Errorf("another process holds the name: %w", err)
	}
	fmt.Println("granted", lease.Token())
	time.Sleep(work)
	if err := errors.Join(f.Close(), os.Remove(file)); err != nil {
		return 0, err
	}
	return pause, lease.Release()
}
