//go:build unix

package dbtest

import (
	"database/sql"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	_ "github.com/lib/pq" // the driver "postgres"
)

const debianPostgres = "/usr/lib/postgresql/*/bin" // not in PATH

// Postgres starts a PostgreSQL with an empty data directory of its own and returns
// a database. It fails the test if there is no PostgreSQL: nothing is skipped.
func Postgres(t testing.TB) *sql.DB {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this needs PostgreSQL")
	}
	initdb, postgres := program("initdb", debianPostgres), program("postgres", debianPostgres)
	if initdb == "" || postgres == "" {
		t.Fatal("dbtest: no PostgreSQL: install it (Debian: apt-get install postgresql)")
	}
	s := newServer(t)
	data := filepath.Join(s.dir, "data")
	made := s.command(initdb, "-D", data, "-U", "app", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if text, err := made.CombinedOutput(); err != nil {
		t.Fatalf("dbtest: initdb: %v\n%s", err, text)
	}
	return s.serve(config{
		command: func(port string) *exec.Cmd {
			return s.command(postgres, "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
				"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "deadlock_timeout=10s")
		},
		open: func(port string) (*sql.DB, error) {
			return sql.Open("postgres", "host=127.0.0.1 sslmode=disable user=app dbname=postgres connect_timeout=5 port="+port)
		},
		where: "SHOW data_directory",
		data:  data,
		quit:  syscall.SIGQUIT, // at once; kill -9 would leave its children for a moment
	})
}
