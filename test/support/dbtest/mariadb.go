//go:build unix

package dbtest

import (
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MariaDB starts a MariaDB with an empty data directory of its own. Each call of
// open makes a new database there, and change may set what the driver does. MariaDB
// fails the test if there is no mariadbd: nothing is skipped.
func MariaDB(t testing.TB) (open func(change func(*mysql.Config)) *sql.DB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this needs MariaDB")
	}
	mariadbd := program("mariadbd", "/usr/sbin") // not in everybody's PATH
	if mariadbd == "" {
		t.Fatal("dbtest: no MariaDB: install it (Debian: apt-get install mariadb-server)")
	}
	s := newServer(t)
	login := mysql.NewConfig()
	login.User, login.Net, login.Timeout, login.Logger = "root", "tcp", 5*time.Second, &mysql.NopLogger{}
	admin := s.serve(config{
		command: func(port string) *exec.Cmd {
			// Without grant tables it needs no mysql_install_db and no password.
			return s.command(mariadbd, "--no-defaults", "--skip-grant-tables", "--datadir="+s.dir, "--bind-address=127.0.0.1", "--port="+port,
				"--socket="+filepath.Join(s.dir, "socket"), "--pid-file="+filepath.Join(s.dir, "pid"), "--innodb-use-native-aio=0",
				"--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync")
		},
		open: func(port string) (*sql.DB, error) {
			login.Addr = "127.0.0.1:" + port
			return opened(login)
		},
		where: "SELECT @@datadir",
		data:  s.dir,
		quit:  syscall.SIGKILL, // it has no children, and nobody wants its data
	})
	var made atomic.Int64
	return func(change func(*mysql.Config)) *sql.DB {
		t.Helper()
		c := login.Clone()
		c.DBName = fmt.Sprint("test", made.Add(1))
		if change != nil {
			change(c)
		}
		if _, err := admin.Exec("CREATE DATABASE " + c.DBName); err != nil {
			t.Fatal(err)
		}
		db, err := opened(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
}

func opened(c *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
