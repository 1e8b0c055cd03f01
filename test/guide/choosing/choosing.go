// Package choosing is the code of docs/guide/03-choosing.md.
package choosing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast"
)

func semaphore(ctx context.Context, client *holdfast.Client, export func(context.Context) error) error {
	exports := client.Semaphore("exports", 10)
	return holdfast.Do(ctx, exports.Permits(4), func(ctx context.Context, _ *holdfast.Lease) error {
		return export(ctx) // a big one: it counts for four
	})
}

func readers(ctx context.Context, client *holdfast.Client, read, write func(context.Context) error) error {
	config := client.RWMutex("config")
	reading := holdfast.Do(ctx, config.RLocker(), func(ctx context.Context, _ *holdfast.Lease) error {
		return read(ctx)
	})
	writing := holdfast.Do(ctx, config, func(ctx context.Context, _ *holdfast.Lease) error {
		return write(ctx)
	})
	return errors.Join(reading, writing)
}

func numbered(ctx context.Context, client *holdfast.Client, n int, work func(ctx context.Context, i int) error) error {
	gpus := client.Semaphore("gpus", n)
	return holdfast.Do(ctx, gpus.Permits(1), func(ctx context.Context, _ *holdfast.Lease) error {
		for {
			for i := range n {
				lease, err := client.Mutex(fmt.Sprint("gpu:", i)).TryLock(ctx)
				if errors.Is(err, holdfast.ErrHeld) {
					continue
				}
				if err != nil {
					return err
				}
				return errors.Join(work(lease.Context(ctx), i), lease.Release())
			}
			time.Sleep(100 * time.Millisecond) // after a crash a number is free a little later than its permit
		}
	})
}

func several(ctx context.Context, client *holdfast.Client, transfer func(ctx context.Context, from, to int64) error) error {
	return client.Multi("account:7", "account:3").Do(ctx, func(ctx context.Context, lease *holdfast.MultiLease) error {
		return transfer(ctx, lease.Token("account:7"), lease.Token("account:3"))
	})
}

func observe(ctx context.Context, client *holdfast.Client, found func(address string)) {
	for leader, err := range client.Election("scheduler").Observe(ctx) {
		switch {
		case err != nil:
			found("") // the leader is unknown until Redis answers again
		case leader.None():
			found("") // nobody leads
		default:
			found(leader.Value)
		}
	}
}

func lead(ctx context.Context, client *holdfast.Client, address string, step func(ctx context.Context, token int64) error) error {
	return holdfast.Lead(ctx, client.Election("scheduler"), address, func(ctx context.Context, lease *holdfast.Lease) error {
		for {
			if err := step(ctx, lease.Token()); err != nil {
				log.Print(err) // try again at the next tick; "return err" would resign
			}
			select {
			case <-ctx.Done(): // the term is over, or the program stops
				return ctx.Err()
			case <-time.After(time.Minute):
			}
		}
	})
}

func conditional(ctx context.Context, db *sql.DB, id, version int64) error {
	result, err := db.ExecContext(ctx, `UPDATE invoices SET state = 'paid', version = version + 1
		WHERE id = $1 AND version = $2`, id, version)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		return errors.New("another writer was first")
	}
	return nil
}
