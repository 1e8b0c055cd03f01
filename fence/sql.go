package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"github.com/holdfast-go/holdfast"
)

// Table is the name of a table that remembers the highest token of each resource,
// in the database whose rows it protects. "" means "fence". The statements are
// those of PostgreSQL and SQLite.
type Table string

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

// name is checked, for it becomes part of statements: another is a mistake of the
// program.
func (t Table) name() string {
	if t == "" {
		return "fence"
	}
	if !tableName.MatchString(string(t)) {
		panic(fmt.Sprintf("fence: Table is %q: it must be a plain name, or schema.name", string(t)))
	}
	return string(t)
}

// Create is the statement that makes the table if it is not there.
func (t Table) Create() string {
	return "CREATE TABLE IF NOT EXISTS " + t.name() + " (resource TEXT PRIMARY KEY, token BIGINT NOT NULL)"
}

// Statement is what Advance executes, with $1 the resource and $2 the token: it
// affects one row, or none if the token is stale.
func (t Table) Statement() string {
	return "INSERT INTO " + t.name() + " AS held (resource, token) VALUES ($1, $2)" +
		" ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE held.token <= excluded.token"
}

// Advance notes in tx that a token is about to write to the resource. It must be
// the first statement of tx, before anything is read, and is one statement unless it
// refuses: from then until the end of tx others who advance the same resource wait, so transactions of one resource
// come one after the other, and a stale one never commits after a newer one.
//
// A token below the highest is a *holdfast.StaleError: roll back. Any other error
// is the database's, such as a serialization failure above READ COMMITTED or a
// busy SQLite (give it a busy_timeout): roll back, and try anew while the lease
// lasts.
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
// *holdfast.StaleError, f was not called and nothing was written. Other errors are
// those of f or of the database; only after an error of the commit itself is it
// unknown whether the transaction is committed.
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

// Wrote judges a statement on rows that have a fence column of their own, such as
//
//	UPDATE invoices SET total = $1, fence = $2 WHERE id = $3 AND fence <= $2
//
// No row affected is a *holdfast.StaleError without Newest: the row has a higher
// token, or is not there at all. A row for each resource needs no fence table, but
// its holder reads only what such a statement of its own, with RETURNING or before
// in the same transaction, has advanced.
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
