//go:build unix

package databases_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/fence"
)

func Example_fenceTable() {
	db, err := sql.Open("sqlite", ":memory:") // or PostgreSQL
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would be a memory of its own
	for _, statement := range []string{fence.Table("").Create(), "CREATE TABLE paid (invoice INT)"} {
		if _, err := db.Exec(statement); err != nil {
			fmt.Println(err)
		}
	}
	store, err := embedded.Open(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	client := holdfast.New(store, nil)
	defer client.Close()

	pay := func(ctx context.Context, lease *holdfast.Lease) error {
		return fence.Table("").Do(ctx, db, lease.Name(), lease.Token(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO paid VALUES (42)")
			return err
		})
	}
	ctx := context.Background()
	older, err := client.Mutex("invoice:42").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = older.Release() // as if it ended while its process was frozen
	fmt.Println(holdfast.Do(ctx, client.Mutex("invoice:42"), pay))
	fmt.Println(errors.Is(pay(ctx, older), holdfast.ErrStale))
	// Output:
	// <nil>
	// true
}
