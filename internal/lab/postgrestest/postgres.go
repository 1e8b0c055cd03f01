//go:build unix

package postgrestest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver "postgres"
)

const (
	startTimeout = 60 * time.Second
	portTries    = 8
)

// Start starts a server with an empty data directory of its own and returns a
// database. It fails the test where there is no PostgreSQL: nothing is skipped.
// The server runs as another user where we are root, which it refuses to be.
func Start(t testing.TB) *sql.DB {
	t.Helper()
	dir, err := os.MkdirTemp("", "postgrestest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	who, err := other(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	initdb := program("initdb")
	if initdb == "" {
		t.Fatal("postgrestest: no PostgreSQL: install it (Debian: apt-get install postgresql)")
	}
	made := command(dir, who, initdb, "-D", data, "-U", "app", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if text, err := made.CombinedOutput(); err != nil {
		t.Fatalf("postgrestest: initdb: %v\n%s", err, text)
	}
	for range portTries {
		db, err := serve(t, dir, data, who)
		if err == nil {
			return db
		}
		t.Log(err) // the port may have been taken in between
	}
	t.Fatal("postgrestest: no server started")
	return nil
}

// program is the newest of that name, in PATH or where Debian has it.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return ""
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) }) // 9 before 15
	return found[len(found)-1]
}

// other is the user to run as, nil for ours. The directory becomes that user's.
func other(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

func command(dir string, who *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C")
	cmd.SysProcAttr = dieWithParent()
	cmd.SysProcAttr.Credential = who
	return cmd
}

// serve starts the server on a free port and returns once it answers and has
// proved to be the one just started.
func serve(t testing.TB, dir, data string, who *syscall.Credential) (*sql.DB, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	_ = free.Close()
	cmd := command(dir, who, program("postgres"), "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "deadlock_timeout=10s")
	var log bytes.Buffer // read only when it has ended
	cmd.Stdout, cmd.Stderr = &log, &log
	ended, err := start(cmd)
	if err != nil {
		return nil, err
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // at once; kill -9 would leave its children for a moment
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	}
	db, err := sql.Open("postgres", "host=127.0.0.1 sslmode=disable user=app dbname=postgres connect_timeout=5 port="+port)
	if err == nil {
		err = await(db, data, ended)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("postgrestest: %w; its log:\n%s", err, log.String())
	}
	t.Cleanup(func() {
		_ = db.Close()
		stop()
	})
	return db, nil
}

func await(db *sql.DB, data string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		var where string
		err := db.QueryRowContext(ctx, "SHOW data_directory").Scan(&where)
		if err == nil && where != data {
			return errors.New("the port was taken by another server")
		}
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
