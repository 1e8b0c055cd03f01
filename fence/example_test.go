package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fence"
)

// A resource in this process that refuses writes of an earlier holder.
func ExampleGate() {
	var gate fence.Gate
	older, newer := int64(41), int64(42) // Lease.Token of two leases, one after the other
	write := func(token int64) error {
		leave, err := gate.Enter(context.Background(), "invoice:42", token)
		if err != nil {
			return err
		}
		defer leave()
		// read, and write: no newer token gets in meanwhile
		return nil
	}
	fmt.Println(write(older))
	fmt.Println(write(newer))
	err := write(older) // its process was frozen and writes late
	fmt.Println(err, errors.Is(err, holdfast.ErrLost))
	// Output:
	// <nil>
	// <nil>
	// holdfast: invoice:42: token 41 is stale: token 42 has written true
}

// A service that refuses writes with stale tokens, and what its client gets.
func ExampleHandler() {
	service := httptest.NewServer(&fence.Handler{
		Gate:     new(fence.Gate),
		Required: true,
		Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}),
	})
	defer service.Close()
	put := func(token string) (*http.Response, error) {
		request, err := http.NewRequest(http.MethodPut, service.URL+"/invoices/42", nil)
		if err != nil {
			return nil, err
		}
		if token != "" {
			request.Header.Set(fence.Header, token) // fence.SetHeader does this for a lease
		}
		return http.DefaultClient.Do(request)
	}
	for _, token := range []string{"41", "42", "41", ""} {
		answer, err := put(token)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answer.StatusCode, fence.Refused(answer))
		_ = answer.Body.Close()
	}
	// Output:
	// 204 <nil>
	// 204 <nil>
	// 412 holdfast: /invoices/42: token 41 is stale: token 42 has written
	// 428 <nil>
}

// Rows of a database that take no write of an earlier holder.
func ExampleTable() {
	var (
		db     *sql.DB // PostgreSQL or SQLite, after fence.Table("").Create()
		client *holdfast.Client
	)
	err := holdfast.Do(context.Background(), client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		return fence.Table("").Do(ctx, db, lease.Name(), lease.Token(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE invoices SET paid = true WHERE id = 42")
			return err
		})
	})
	if errors.Is(err, holdfast.ErrStale) {
		fmt.Println("a newer holder has written: nothing was changed")
	}
}

// The statements, for code that does not use database/sql.
func ExampleTable_Statement() {
	fmt.Println(fence.Table("").Create())
	fmt.Println(fence.Table("").Statement())
	// Output:
	// CREATE TABLE IF NOT EXISTS fence (resource TEXT PRIMARY KEY, token BIGINT NOT NULL)
	// INSERT INTO fence AS held (resource, token) VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE held.token <= excluded.token
}

// The same as for a Table, with the statements of MySQL and MariaDB.
func ExampleMySQL() {
	var (
		db     *sql.DB // MySQL or MariaDB, after fence.MySQL("").Create()
		client *holdfast.Client
	)
	err := holdfast.Do(context.Background(), client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		return fence.MySQL("").Do(ctx, db, lease.Name(), lease.Token(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE invoices SET paid = true WHERE id = 42")
			return err
		})
	})
	if errors.Is(err, holdfast.ErrStale) {
		fmt.Println("a newer holder has written: nothing was changed")
	}
}

// The statements, for code that does not use database/sql.
func ExampleMySQL_Statement() {
	fmt.Println(fence.MySQL("").Create())
	fmt.Println(fence.MySQL("").Statement())
	// Output:
	// CREATE TABLE IF NOT EXISTS fence (resource VARBINARY(512) PRIMARY KEY, token BIGINT NOT NULL) ENGINE=InnoDB
	// INSERT INTO fence (resource, token) VALUES (?, LAST_INSERT_ID(?)) ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(GREATEST(token, ?))
}

// A row that has a fence column of its own.
func ExampleWrote() {
	var (
		db    *sql.DB // PostgreSQL or SQLite; for MySQL use fence.MySQL("").Wrote
		lease *holdfast.Lease
		ctx   = context.Background()
	)
	pay := func() error {
		result, err := db.ExecContext(ctx, "UPDATE invoices SET paid = true, fence = $1 WHERE id = $2 AND fence <= $1", lease.Token(), 42)
		if err != nil {
			return err
		}
		return fence.Wrote(result, lease.Name(), lease.Token())
	}
	_ = pay
}

// A row of MySQL that has a fence column of its own.
func ExampleMySQL_Wrote() {
	var (
		db    *sql.DB
		lease *holdfast.Lease
		ctx   = context.Background()
	)
	pay := func() error {
		result, err := db.ExecContext(ctx, "UPDATE invoices SET paid = true, fence = LAST_INSERT_ID(?) WHERE id = ? AND fence <= ?", lease.Token(), 42, lease.Token())
		if err != nil {
			return err
		}
		return fence.MySQL("").Wrote(result, lease.Name(), lease.Token())
	}
	_ = pay
}

// A client that sends the token of its lease.
func ExampleSetHeader() {
	var lease *holdfast.Lease
	put := func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://billing/invoices/42", nil)
		if err != nil {
			return err
		}
		fence.SetHeader(request, lease)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		return fence.Refused(response)
	}
	_ = put
}
