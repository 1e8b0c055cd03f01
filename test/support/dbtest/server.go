//go:build unix

package dbtest

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

	"github.com/holdfast-go/holdfast/test/support/child"
)

const (
	startTimeout = 60 * time.Second
	portTries    = 8
)

// server is a database server with a directory of its own. It runs as another user
// if we are root, because both servers refuse root or warn about it.
type server struct {
	t   testing.TB
	dir string
	who *syscall.Credential
}

func newServer(t testing.TB) server {
	t.Helper()
	dir, err := os.MkdirTemp("", "dbtest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	who, err := other(dir)
	if err != nil {
		t.Fatal(err)
	}
	return server{t: t, dir: dir, who: who}
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

// program is the newest program of that name in PATH or in the directories.
func program(name string, dirs ...string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	var found []string
	for _, dir := range dirs {
		more, _ := filepath.Glob(filepath.Join(dir, name))
		found = append(found, more...)
	}
	if len(found) == 0 {
		return ""
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) }) // 9 before 15
	return found[len(found)-1]
}

func (s server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.who}
	return cmd
}

// serve starts the server on a free port and returns once it answers and has
// proved to be the one just started. It tries other ports, because another process
// may take the port before the server does.
func (s server) serve(c config) *sql.DB {
	s.t.Helper()
	for range portTries {
		db, err := s.try(c)
		if err == nil {
			return db
		}
		s.t.Log(err)
	}
	s.t.Fatal("dbtest: no server started")
	return nil
}

// config says how to start one kind of server.
type config struct {
	command func(port string) *exec.Cmd
	open    func(port string) (*sql.DB, error)
	where   string // the query for the data directory
	data    string // its answer
	quit    syscall.Signal
}

func (s server) try(c config) (*sql.DB, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	_ = free.Close()
	cmd := c.command(port)
	var log bytes.Buffer // read only when it has ended
	cmd.Stdout, cmd.Stderr = &log, &log
	ended, err := child.StartServer(cmd, syscall.SIGQUIT) // at once
	if err != nil {
		return nil, err
	}
	stop := func() {
		_ = cmd.Process.Signal(c.quit)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	}
	db, err := c.open(port)
	if err == nil {
		err = c.await(db, ended)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("dbtest: %w; its log:\n%s", err, log.String())
	}
	s.t.Cleanup(func() {
		_ = db.Close()
		stop()
	})
	return db, nil
}

func (c config) await(db *sql.DB, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		var where string
		err := db.QueryRowContext(ctx, c.where).Scan(&where)
		if err == nil && filepath.Clean(where) != c.data {
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
