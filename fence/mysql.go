package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast"
)

// MySQL is the name of a table in MySQL or MariaDB that remembers the highest token
// of each resource, as a [Table] does in PostgreSQL. "" means "fence". A resource has
// at most 512 bytes and is compared byte by byte.
//
// The driver needs no settings. By default MySQL does not count a row whose values do
// not change; with clientFoundRows in the DSN it does. So the statements do not use the
// count, but return the token by LAST_INSERT_ID.
type MySQL string

// longestResource is the length of the column that Create makes.
const longestResource = 512

// Create is the statement that makes the table if it does not exist.
func (t MySQL) Create() string {
	return "CREATE TABLE IF NOT EXISTS " + Table(t).name() +
		" (resource VARBINARY(512) PRIMARY KEY, token BIGINT NOT NULL) ENGINE=InnoDB"
}

// Statement is the statement that Advance executes. Its arguments are the resource,
// the token and the token again. LastInsertId of the result is the highest token of the
// resource. If it is higher than your token, your token is stale.
func (t MySQL) Statement() string {
	// VALUES(token) would save the third argument, but MySQL 8.0.20 deprecates it.
	return "INSERT INTO " + Table(t).name() + " (resource, token) VALUES (?, LAST_INSERT_ID(?))" +
		" ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(GREATEST(token, ?))"
}

// Advance works as [Table.Advance]. If a transaction that added the resource rolls
// back, two waiting transactions may deadlock. MySQL then ends one of them with error
// 1213. Roll back, and try again while the lease is held.
func (t MySQL) Advance(ctx context.Context, tx *sql.Tx, resource string, token int64) error {
	// Without a strict sql_mode MySQL would cut a long resource, so that two could share
	// a row, and would store a negative token as the highest of all.
	switch {
	case len(resource) > longestResource:
		return fmt.Errorf("fence: the resource has %d bytes: at most %d are allowed", len(resource), longestResource)
	case token < 1:
		return &holdfast.StaleError{Name: resource, Token: token, Newest: 1}
	}
	result, err := tx.ExecContext(ctx, t.Statement(), resource, token, token)
	if err != nil {
		return err
	}
	newest, err := result.LastInsertId()
	switch {
	case err != nil:
		return err
	case newest > token:
		return &holdfast.StaleError{Name: resource, Token: token, Newest: newest}
	case newest < token:
		return fmt.Errorf("fence: the insert id is %d and not the token %d: the table must be as Create makes it, without AUTO_INCREMENT", newest, token)
	}
	return nil
}

// Do works as [Table.Do].
func (t MySQL) Do(ctx context.Context, db *sql.DB, resource string, token int64, f func(tx *sql.Tx) error) error {
	return do(ctx, db, func(tx *sql.Tx) error {
		if err := t.Advance(ctx, tx, resource, token); err != nil {
			return err
		}
		return f(tx)
	})
}

// Wrote checks the result of a statement on rows that have a fence column of their
// own, such as
//
//	UPDATE invoices SET total = ?, fence = LAST_INSERT_ID(?) WHERE id = ? AND fence <= ?
//
// It returns a *holdfast.StaleError without Newest if no row matches: the row has a
// higher token, or does not exist. It returns another error if the statement sets the
// token without LAST_INSERT_ID, or changes several rows. A trigger of the table that
// inserts an AUTO_INCREMENT row hides the token, so Wrote returns an error: use Advance.
func (t MySQL) Wrote(result sql.Result, resource string, token int64) error {
	written, err := result.LastInsertId()
	if err != nil {
		return err
	}
	rows, err := result.RowsAffected()
	switch {
	case err != nil:
		return err
	case rows > 1:
		return errSeveral
	case written == token && token > 0: // without a match the id is 0, as a token of 0 is
		return nil
	case rows == 0 && written == 0 || token < 1:
		return &holdfast.StaleError{Name: resource, Token: token}
	}
	return errors.New("fence: the statement must set the token by LAST_INSERT_ID")
}
