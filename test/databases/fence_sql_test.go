//go:build unix

// Package databases_test tests package fence with PostgreSQL and MariaDB.
package databases_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/go-sql-driver/mysql"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/test/support/dbtest"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// table is what fence.Table and fence.MySQL have in common.
type table interface {
	Create() string
	Advance(ctx context.Context, tx *sql.Tx, resource string, token int64) error
	Do(ctx context.Context, db *sql.DB, resource string, token int64, f func(tx *sql.Tx) error) error
}

// database is a database with its fence table.
type database struct {
	*sql.DB
	fence table
	wrote func(result sql.Result, resource string, token int64) error
	set   string // how a statement sets a fence column to $1
}

// q is a statement with the placeholders of the database.
func (db database) q(statement string, args ...any) (string, []any) {
	if _, mysql := db.fence.(fence.MySQL); !mysql {
		return statement, args
	}
	var placed []any
	return placeholder.ReplaceAllStringFunc(statement, func(s string) string {
		placed = append(placed, args[s[1]-'1'])
		return "?"
	}), placed
}

var placeholder = regexp.MustCompile(`\$[1-9]`)

// eachDatabase runs a test on a PostgreSQL, a SQLite and a MariaDB, each with an
// empty fence table and an account. It runs it on MariaDB once more for each way in
// which the driver may speak to it.
func eachDatabase(t *testing.T, test func(t *testing.T, db database)) {
	prepared := func(t *testing.T, db database) {
		must(t, db, db.fence.Create())
		must(t, db, db.fence.Create()) // again: it is there
		must(t, db, "CREATE TABLE account (id VARCHAR(100) PRIMARY KEY, balance BIGINT, fence BIGINT)")
		test(t, db)
	}
	standard := func(db *sql.DB) database {
		return database{DB: db, fence: fence.Table(""), wrote: fence.Wrote, set: "fence = $1"}
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		prepared(t, standard(dbtest.Postgres(t)))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "test.db")+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		prepared(t, standard(db))
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		open := dbtest.MariaDB(t)
		for name, change := range map[string]func(*mysql.Config){
			"counts changed rows": nil,
			"counts found rows":   func(c *mysql.Config) { c.ClientFoundRows = true },
			"interpolates":        func(c *mysql.Config) { c.InterpolateParams = true },
		} {
			t.Run(name, func(t *testing.T) {
				prepared(t, database{DB: open(change), fence: fence.MySQL(""), wrote: fence.MySQL("").Wrote, set: "fence = LAST_INSERT_ID($1)"})
			})
		}
	})
}

func must(t *testing.T, db database, statement string, args ...any) {
	t.Helper()
	statement, args = db.q(statement, args...)
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func balance(t *testing.T, db database, id string) (n int64) {
	t.Helper()
	statement, args := db.q("SELECT balance FROM account WHERE id = $1", id)
	if err := db.QueryRowContext(t.Context(), statement, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// One transaction after the other: equal and higher tokens pass, lower ones are
// stale and change nothing, and resources do not know of each other.
func TestFenceTable(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		must(t, db, "INSERT INTO account VALUES ('a', 0, 0)")
		const token = int64(1) << 52
		for _, step := range []struct {
			resource string
			token    int64
			newest   int64 // what refuses it
		}{{"a", token, 0}, {"a", token, 0}, {"a", token + 2, 0}, {"a", token + 1, token + 2}, {"b'; --", 5, 0}, {"b'; --", 4, 5}, {"a", token + 2, 0}} {
			before, called := balance(t, db, "a"), false
			err := db.fence.Do(t.Context(), db.DB, step.resource, step.token, func(tx *sql.Tx) error {
				called = true
				_, err := tx.Exec("UPDATE account SET balance = balance + 1")
				return err
			})
			stale, refused := errors.AsType[*holdfast.StaleError](err)
			if refused != (step.newest > 0) || !refused && err != nil || called == refused {
				t.Errorf("%v: got %v, called: %v", step, err, called)
			}
			if refused && (stale.Newest != step.newest || stale.Token != step.token || stale.Name != step.resource) {
				t.Errorf("%v: got %+v", step, stale)
			}
			if wrote := balance(t, db, "a") > before; wrote == refused {
				t.Errorf("%v: wrote: %v", step, wrote)
			}
		}
		failed := errors.New("no")
		if err := db.fence.Do(t.Context(), db.DB, "a", token+9, func(*sql.Tx) error { return failed }); !errors.Is(err, failed) {
			t.Errorf("f's own error: got %v", err)
		}
		if err := db.fence.Do(t.Context(), db.DB, "a", token+3, func(*sql.Tx) error { return nil }); err != nil {
			t.Errorf("after a transaction of %d that was rolled back, %d: got %v, want nil", token+9, token+3, err)
		}
	})
}

// A row with a fence column of its own refuses lower tokens by its statement, and
// takes the same write again.
func TestFenceColumn(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		must(t, db, "INSERT INTO account VALUES ('a', 0, 0)")
		for _, step := range []struct {
			id             string
			token, balance int64
			stale          bool
		}{{"a", 3, 1, false}, {"a", 3, 1, false}, {"a", 3, 2, false}, {"a", 2, 9, true}, {"a", 4, 4, false}, {"missing", 9, 9, true}} {
			statement, args := db.q("UPDATE account SET balance = $3, "+db.set+" WHERE id = $2 AND fence <= $1", step.token, step.id, step.balance)
			result, err := db.ExecContext(t.Context(), statement, args...)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.wrote(result, step.id, step.token); errors.Is(err, holdfast.ErrStale) != step.stale || !step.stale && err != nil {
				t.Errorf("%v: got %v", step, err)
			}
			if got := balance(t, db, "a"); step.id == "a" && (got == step.balance) == step.stale {
				t.Errorf("%v: the balance is %d", step, got)
			}
		}
		must(t, db, "INSERT INTO account VALUES ('b', 0, 0)")
		statement, args := db.q("UPDATE account SET balance = 7, "+db.set+" WHERE fence <= $1", int64(5))
		result, err := db.ExecContext(t.Context(), statement, args...)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.wrote(result, "a", 5); err == nil || errors.Is(err, holdfast.ErrStale) {
			t.Errorf("two rows: got %v, want an error that says so", err)
		}
	})
}

// orders are all ways to shuffle n steps of 1 into n of 2.
func orders(n1, n2 int) []string {
	if n1 == 0 || n2 == 0 {
		return []string{strings.Repeat("1", n1) + strings.Repeat("2", n2)}
	}
	var all []string
	for _, rest := range orders(n1-1, n2) {
		all = append(all, "1"+rest)
	}
	for _, rest := range orders(n1, n2-1) {
		all = append(all, "2"+rest)
	}
	return all
}

// Two transactions with tokens 1 and 2 in every order of their steps (advance,
// read and write, commit), some of which have to wait for the other: the stale one
// never commits after the newer one, and what the newer one has read is still so
// when it commits.
func TestFenceTableInEveryOrder(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		both, refused := 0, 0
		for _, isolation := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelSerializable} {
			for _, order := range orders(3, 3) {
				id := fmt.Sprint(order, isolation)
				must(t, db, "INSERT INTO account VALUES ($1, 0, 0)", id)
				r := &race{t: t, db: db, id: id, isolation: isolation}
				commits, errs := r.run(order)
				if errs[2] != nil {
					t.Errorf("%s: the newer transaction: got %v, want that it commits", id, errs[2])
				}
				if commits == "21" {
					t.Errorf("%s: the stale transaction committed after the newer one", id)
				}
				if got, want := balance(t, db, id), map[string]int64{"2": 2, "12": 12}[commits]; got != want {
					t.Errorf("%s: %d stands there, want %d after the commits %q", id, got, want, commits)
				}
				if errors.Is(errs[1], holdfast.ErrStale) {
					refused++
				} else if errs[1] != nil && isolation == sql.LevelDefault {
					t.Errorf("%s: the older transaction: got %v, want nil or stale", id, errs[1])
				}
				if commits == "12" {
					both++
				}
			}
		}
		if both == 0 || refused == 0 {
			t.Errorf("both committed %d times, the older was refused %d times: this proves nothing", both, refused)
		}
	})
}

// race is two transactions on one row. Each appends its token to the balance that
// it has read.
type race struct {
	t         *testing.T
	db        database
	id        string
	isolation sql.IsolationLevel

	mu      sync.Mutex
	commits string
}

// run takes the steps in that order. A step that waits for the other transaction
// is left waiting, and what comes behind it in its own waits with it.
func (r *race) run(order string) (commits string, errs map[int]error) {
	steps := map[byte]chan chan struct{}{'1': make(chan chan struct{}, 3), '2': make(chan chan struct{}, 3)}
	errs = map[int]error{}
	var both sync.WaitGroup
	for token := 1; token <= 2; token++ {
		both.Go(func() {
			err := r.transaction(int64(token), steps[byte('0'+token)])
			r.mu.Lock()
			defer r.mu.Unlock()
			errs[token] = err
		})
	}
	for i := range len(order) {
		taken := make(chan struct{})
		steps[order[i]] <- taken
		select {
		case <-taken:
		case <-time.After(30 * time.Millisecond): // it waits for the other, or is slow, which is an order, too
		}
	}
	close(steps['1'])
	close(steps['2'])
	both.Wait()
	if errs[2] != nil && r.isolation == sql.LevelSerializable { // PostgreSQL: could not serialize access
		errs[2] = r.transaction(2, steps['2'])
	}
	return r.commits, errs
}

func (r *race) transaction(token int64, steps <-chan chan struct{}) error {
	step := func() (done func()) {
		taken, ordered := <-steps
		return func() {
			if ordered {
				close(taken)
			}
		}
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), clienttest.Patience)
	defer cancel()
	done := step()
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: r.isolation})
	if err != nil {
		r.t.Error(err)
		return err
	}
	defer func() { _ = tx.Rollback() }()
	err = r.db.fence.Advance(ctx, tx, r.id, token)
	done()
	if err != nil {
		return err
	}
	done = step()
	var n int64
	statement, args := r.db.q("SELECT balance FROM account WHERE id = $1", r.id)
	if err = tx.QueryRowContext(ctx, statement, args...).Scan(&n); err == nil {
		statement, args = r.db.q("UPDATE account SET balance = $1 WHERE id = $2", 10*n+token, r.id)
		_, err = tx.ExecContext(ctx, statement, args...)
	}
	done()
	if err != nil {
		return err
	}
	defer step()()
	r.mu.Lock() // no commit comes between a commit and its note
	defer r.mu.Unlock()
	if err = tx.Commit(); err == nil {
		r.commits += fmt.Sprint(token)
	}
	return err
}
