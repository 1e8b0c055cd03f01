//go:build unix

package guide_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/fence"
)

// The code of docs/guide/02-fencing.md. What it says of MySQL is in package databases.

func pay(ctx context.Context, client *holdfast.Client, db *sql.DB) error {
	return holdfast.Do(ctx, client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		return fence.Table("").Do(ctx, db, lease.Name(), lease.Token(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE invoices SET paid = true WHERE id = 42")
			return err
		})
	})
}

func payRow(ctx context.Context, db *sql.DB, lease *holdfast.Lease) error {
	result, err := db.ExecContext(ctx, "UPDATE invoices SET paid = true, fence = $1 WHERE id = 42 AND fence <= $1", lease.Token())
	if err != nil {
		return err
	}
	return fence.Wrote(result, lease.Name(), lease.Token())
}

func service(invoices http.Handler) http.Handler {
	return &fence.Handler{
		Gate:     new(fence.Gate),
		Next:     invoices,
		Required: true, // a write without a token gets 428
	}
}

func putInvoice(ctx context.Context, lease *holdfast.Lease, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, nil)
	if err != nil {
		return err
	}
	fence.SetHeader(request, lease)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return fence.Refused(response) // a *holdfast.StaleError for 412
}

func take(ctx context.Context, lease *holdfast.Lease) (left []string, err error) {
	return lease.Eval(ctx, `return redis.call('DECRBY', KEYS[1], ARGV[1])`, []string{"left:42"}, []string{"3"})
}

// twoLeases are an old lease of invoice:42, as of a process that was frozen, and the
// newest.
func twoLeases(t *testing.T) (client *holdfast.Client, older, newer *holdfast.Lease) {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	client = holdfast.New(store, nil)
	t.Cleanup(func() {
		_ = client.Close()
		_ = store.Close()
	})
	for _, lease := range []**holdfast.Lease{&older, &newer} {
		if *lease, err = client.Mutex("invoice:42").Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := (*lease).Release(); err != nil {
			t.Fatal(err)
		}
	}
	return client, older, newer
}

// refusesTheOlder wants that a write passes twice with the newer lease and then not
// with the older.
func refusesTheOlder(t *testing.T, what string, older, newer *holdfast.Lease, write func(*holdfast.Lease) error) {
	t.Helper()
	for range 2 {
		if err := write(newer); err != nil {
			t.Errorf("%s with the newest token: got %v, want nil", what, err)
		}
	}
	if err := write(older); !errors.Is(err, holdfast.ErrStale) {
		t.Errorf("%s with an old token: got %v, want stale", what, err)
	}
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestFencingRows(t *testing.T) {
	client, older, newer := twoLeases(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "invoices.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute(t, db, fence.Table("").Create(), "CREATE TABLE invoices (id INT PRIMARY KEY, paid BOOLEAN, fence BIGINT)", "INSERT INTO invoices VALUES (42, false, 0)")
	refusesTheOlder(t, "a row", older, newer, func(lease *holdfast.Lease) error { return payRow(t.Context(), db, lease) })
	if err := pay(t.Context(), client, db); err != nil {
		t.Error(err)
	}
}

func TestFencingHTTP(t *testing.T) {
	_, older, newer := twoLeases(t)
	server := httptest.NewServer(service(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })))
	defer server.Close()
	refusesTheOlder(t, "HTTP", older, newer, func(lease *holdfast.Lease) error {
		return putInvoice(t.Context(), lease, server.URL+"/invoices/42")
	})
}

func TestFencingRedis(t *testing.T) {
	client, _, _ := twoLeases(t)
	err := holdfast.Do(t.Context(), client.Mutex("invoice:42"), func(ctx context.Context, lease *holdfast.Lease) error {
		left, err := take(ctx, lease)
		if err == nil && left[0] != "-3" {
			t.Errorf("got %v, want -3", left)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
