//go:build unix

package databases_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/test/support/dbtest"
)

// On MySQL a statement or a table that hides the token is an error, and no pass.
func TestFenceMySQLWithoutTheToken(t *testing.T) {
	open := dbtest.MariaDB(t)
	for _, found := range []bool{false, true} {
		db := database{DB: open(func(c *mysql.Config) { c.ClientFoundRows = found }), fence: fence.MySQL("")}
		must(t, db, "CREATE TABLE account (id VARCHAR(100) PRIMARY KEY, balance BIGINT, fence BIGINT)")
		must(t, db, "INSERT INTO account VALUES ('a', 0, 0)")
		result, err := db.ExecContext(t.Context(), "UPDATE account SET balance = 1, fence = 3 WHERE id = 'a' AND fence <= 3")
		if err != nil {
			t.Fatal(err)
		}
		if err := fence.MySQL("").Wrote(result, "a", 3); err == nil || errors.Is(err, holdfast.ErrStale) {
			t.Errorf("without LAST_INSERT_ID, found rows %v: got %v, want an error that says so", found, err)
		}
		must(t, db, "CREATE TABLE fence (n INT AUTO_INCREMENT PRIMARY KEY, resource VARBINARY(100) UNIQUE, token BIGINT)")
		err = db.fence.Do(t.Context(), db.DB, "a", 3, func(*sql.Tx) error { return nil })
		if err == nil || errors.Is(err, holdfast.ErrStale) {
			t.Errorf("with AUTO_INCREMENT, found rows %v: got %v, want an error that says so", found, err)
		}
	}
}

// Resources of MySQL are compared byte by byte: case and spaces matter, and so do
// bytes that are no UTF-8. One that is too long is an error.
func TestFenceMySQLResources(t *testing.T) {
	open := dbtest.MariaDB(t)
	for _, interpolate := range []bool{false, true} {
		db := database{DB: open(func(c *mysql.Config) { c.InterpolateParams = interpolate }), fence: fence.MySQL("")}
		must(t, db, db.fence.Create())
		advance := func(resource string, token int64) error {
			return db.fence.Do(t.Context(), db.DB, resource, token, func(*sql.Tx) error { return nil })
		}
		for i, resource := range []string{"a", "A", "a ", "ä", "a\xff", "a\x00", "", `a'\`, strings.Repeat("x", 512)} {
			if err := advance(resource, int64(100-i)); err != nil {
				t.Errorf("%.9q: got %v, want that it has no token yet", resource, err)
			}
			if err := advance(resource, int64(99-i)); !errors.Is(err, holdfast.ErrStale) {
				t.Errorf("%.9q with a lower token: got %v, want stale", resource, err)
			}
		}
		if err := advance(strings.Repeat("x", 513), 1000); err == nil {
			t.Error("a resource of 513 bytes passed")
		}
	}
}

// A server that stores what fits, without a strict sql_mode, mixes up no resources and
// no tokens.
func TestFenceMySQLNotStrict(t *testing.T) {
	db := database{DB: dbtest.MariaDB(t)(func(c *mysql.Config) { c.Params = map[string]string{"sql_mode": "''"} }), fence: fence.MySQL("")}
	must(t, db, db.fence.Create())
	advance := func(resource string, token int64) error {
		return db.fence.Do(t.Context(), db.DB, resource, token, func(*sql.Tx) error { return nil })
	}
	for _, last := range []string{"a", "b"} {
		if err := advance(strings.Repeat("x", 512)+last, 5); err == nil || errors.Is(err, holdfast.ErrStale) {
			t.Errorf("a resource of 513 bytes: got %v, want an error that says so", err)
		}
	}
	for _, token := range []int64{-1, 0} {
		if err := advance("a", token); !errors.Is(err, holdfast.ErrStale) {
			t.Errorf("token %d: got %v, want stale", token, err)
		}
	}
	if err := advance("a", 1); err != nil {
		t.Errorf("token 1 after those: %v", err)
	}
}

// A token below 1 is no token of a lease. A row with a newer token is not written, and
// the database reports the insert id 0, which is no proof of a write.
func TestFenceMySQLTokenZero(t *testing.T) {
	open := dbtest.MariaDB(t)
	for _, found := range []bool{false, true} {
		db := database{DB: open(func(c *mysql.Config) { c.ClientFoundRows = found })}
		must(t, db, "CREATE TABLE account (id VARCHAR(100) PRIMARY KEY, balance BIGINT, fence BIGINT)")
		must(t, db, "INSERT INTO account VALUES ('a', 0, 7)")
		for _, token := range []int64{-1, 0} {
			result, err := db.ExecContext(t.Context(), "UPDATE account SET balance = 1, fence = LAST_INSERT_ID(?) WHERE id = 'a' AND fence <= ?", token, token)
			if err != nil {
				t.Fatal(err)
			}
			if err := fence.MySQL("").Wrote(result, "a", token); !errors.Is(err, holdfast.ErrStale) {
				t.Errorf("token %d where 7 has written, found rows %v: got %v, want stale", token, found, err)
			}
		}
	}
}

// Transactions of many tokens at a time, some of which roll back: each reads what
// its predecessor committed, and none commits after a newer one. Deadlocks are
// allowed, as the documentation says.
func TestFenceTableUnderLoad(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		var committed, refused, deadlocks atomic.Int64
		work := func(id string, token int64, commit bool) error {
			return db.fence.Do(t.Context(), db.DB, id, token, func(tx *sql.Tx) error {
				var newest int64
				statement, args := db.q("SELECT balance FROM account WHERE id = $1", id)
				if err := tx.QueryRow(statement, args...).Scan(&newest); err != nil {
					return err
				}
				if newest > token {
					t.Errorf("%s: %d is in after %d has committed", id, token, newest)
				}
				statement, args = db.q("UPDATE account SET balance = $1 WHERE id = $2", token, id)
				if _, err := tx.Exec(statement, args...); err != nil {
					return err
				}
				if !commit {
					return errRolledBack
				}
				return nil
			})
		}
		var all sync.WaitGroup
		for round := range 12 { // each begins with a new resource
			id := fmt.Sprint("r", round)
			must(t, db, "INSERT INTO account VALUES ($1, 0, 0)", id)
			for worker := range 6 {
				all.Go(func() {
					random := rand.New(rand.NewPCG(uint64(round), uint64(worker)))
					for i := range 4 {
						err := work(id, int64(10*i+random.IntN(20)+1), random.IntN(3) > 0)
						if deadlock, ok := errors.AsType[*mysql.MySQLError](err); ok && deadlock.Number == 1213 {
							deadlocks.Add(1)
						} else if errors.Is(err, holdfast.ErrStale) {
							refused.Add(1)
						} else if err == nil {
							committed.Add(1)
						} else if !errors.Is(err, errRolledBack) {
							t.Errorf("%s: %v", id, err)
						}
					}
				})
			}
			all.Wait()
		}
		t.Logf("%d committed, %d refused, %d deadlocks", committed.Load(), refused.Load(), deadlocks.Load())
		if committed.Load() == 0 || refused.Load() == 0 {
			t.Error("this proves nothing")
		}
	})
}

var errRolledBack = errors.New("rolled back")
