package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"github.com/holdfast-go/holdfast"
)

// Table is the name of a table in PostgreSQL or SQLite that remembers the highest
// token of each resource. It must be in the database of the rows that it protects.
// "" means "fence". For MySQL and MariaDB see [MySQL].
type Table string

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

// name checks the name, because it becomes part of statements.
func (t Table) name() string {
	if t == "" {
		return "fence"
	}
	if !tableName.MatchString(string(t)) {
		panic(fmt.Sprintf("fence: the table is %q: it must be a plain name, or schema.name", string(t)))
	}
	return string(t)
}

// Create is the statement that makes the table if it does not exist.
func (t Table) Create() string {
	return "CREATE TABLE IF NOT EXISTS " + t.name() + " (resource TEXT PRIMARY KEY, token BIGINT NOT NULL)"
}

// Statement is the statement that Advance executes. $1 is the resource and $2 the
// token. It affects one row, or none if the token is stale.
func (t Table) Statement() string {
	return "INSERT INTO " + t.name() + " AS held (resource, token) VALUES ($1, $2)" +
		" ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE held.token <= excluded.token"
}

// Advance records in tx that a token is about to write to the resource. It must be
// the first statement of tx, before tx reads anything. It locks the resource until
// the end of tx: other transactions that advance the same resource wait. So
// transactions of one resource run one after the other. A transaction with a stale
// token never commits after a transaction with a newer token.
//
// If the token is below the highest, Advance returns a *holdfast.StaleError: roll
// back. Any other error comes from the database, for example a serialization failure
// above READ COMMITTED, or a busy SQLite without a busy_timeout. Roll back, and try
// again while the lease is held. Advance sends one statement. If the token is stale, it
// sends another one to read the newest token for the error.
func (t Table) Advance(ctx context.Context, tx *sql.Tx, resource string, token int64) error {
	result, err := tx.ExecContext(ctx, t.Statement(), resource, token)
	if err != nil {
		return err
	}
	return advanced(result, resource, token, func() (newest int64) {
		row := tx.QueryRowContext(ctx, "SELECT token FROM "+t.name()+" WHERE resource = $1", resource)
		_ = row.Scan(&newest) // only for the message
		return newest
	})
}

// Do runs f in a transaction that begins with Advance, and commits the transaction
// if f returns nil. If Do returns nil, the transaction is committed. If it returns a
// *holdfast.StaleError, f was not called and nothing was written. Other errors come
// from f or from the database. If the commit itself fails, it is unknown whether the
// transaction is committed. After every other error it is rolled back.
func (t Table) Do(ctx context.Context, db *sql.DB, resource string, token int64, f func(tx *sql.Tx) error) error {
	return do(ctx, db, func(tx *sql.Tx) error {
		if err := t.Advance(ctx, tx, resource, token); err != nil {
			return err
		}
		return f(tx)
	})
}

func do(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Wrote checks the result of a statement on rows that have a fence column of their
// own, such as
//
//	UPDATE invoices SET total = $1, fence = $2 WHERE id = $3 AND fence <= $2
//
// If no row was affected, it returns a *holdfast.StaleError without Newest: the row
// has a higher token, or does not exist. If several rows were affected, it returns
// another error. Rows with a fence column need no fence table. Write the token into the
// column before you read the row: in the same transaction, or with RETURNING. For MySQL see [MySQL.Wrote].
func Wrote(result sql.Result, resource string, token int64) error {
	return advanced(result, resource, token, func() int64 { return 0 })
}

var errSeveral = errors.New("fence: the statement affected several rows: it must be about one resource")

func advanced(result sql.Result, resource string, token int64, newest func() int64) error {
	n, err := result.RowsAffected()
	switch {
	case err != nil:
		return err
	case n > 1:
		return errSeveral
	case n == 0:
		return &holdfast.StaleError{Name: resource, Token: token, Newest: newest()}
	}
	return nil
}
