// Package postgrestest starts a real PostgreSQL on loopback, for the length of a
// test.
package postgrestest
