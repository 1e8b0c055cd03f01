//go:build unix

package databases_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/test/support/dbtest"
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

// What docs/guide/02-fencing.md says of MySQL.

func payMySQL(ctx context.Context, db *sql.DB, lease *holdfast.Lease) error {
	return fence.MySQL("").Do(ctx, db, lease.Name(), lease.Token(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE invoices SET paid = true WHERE id = 42")
		return err
	})
}

func payRowMySQL(ctx context.Context, db *sql.DB, lease *holdfast.Lease) error {
	token := lease.Token()
	result, err := db.ExecContext(ctx,
		"UPDATE invoices SET paid = true, fence = LAST_INSERT_ID(?) WHERE id = 42 AND fence <= ?", token, token)
	if err != nil {
		return err
	}
	return fence.MySQL("").Wrote(result, lease.Name(), token)
}

// A write passes twice with the newest lease, and then not with an older one.
func TestGuideMySQL(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client := holdfast.New(store, nil)
	defer client.Close()
	var leases [2]*holdfast.Lease
	for i := range leases {
		if leases[i], err = client.Mutex("invoice:42").Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := leases[i].Release(); err != nil {
			t.Fatal(err)
		}
	}
	db := dbtest.MariaDB(t)(nil)
	for _, statement := range []string{
		fence.MySQL("").Create(), "CREATE TABLE invoices (id INT PRIMARY KEY, paid BOOLEAN, fence BIGINT)", "INSERT INTO invoices VALUES (42, false, 0)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for what, write := range map[string]func(context.Context, *sql.DB, *holdfast.Lease) error{"a table": payMySQL, "a row": payRowMySQL} {
		for range 2 {
			if err := write(t.Context(), db, leases[1]); err != nil {
				t.Errorf("%s, with the newest token: got %v, want nil", what, err)
			}
		}
		if err := write(t.Context(), db, leases[0]); !errors.Is(err, holdfast.ErrStale) {
			t.Errorf("%s, with an old token: got %v, want stale", what, err)
		}
	}
}
