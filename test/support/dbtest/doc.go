// Package dbtest starts a real PostgreSQL or MariaDB on loopback, for the length of
// a test.
package dbtest
