//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// realServer is a redis-server process of one test. The embedded server knows
// neither ACLs nor CLIENT PAUSE, and cannot be frozen.
type realServer struct {
	dir  string
	addr string
	cmd  *exec.Cmd

	password string        // empty: none
	ended    chan struct{} // closed when the process has ended
}

// startRedis starts one on a free port. Only -short skips what needs one. A port that another process takes before the server
// has it ends the server, which then gets another.
func startRedis(t *testing.T) *realServer {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	s := &realServer{dir: t.TempDir()}
	t.Cleanup(func() { s.stop(t) })
	for range 10 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.addr = listener.Addr().String()
		listener.Close()
		if s.start(t) {
			return s
		}
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	t.Fatalf("redis-server ends when it starts:\n%s", log)
	return nil
}

func (s *realServer) url() string { return "redis://" + s.addr }

// start returns once the process just started, and no other that took the port,
// answers. It reports false if the process has ended before.
func (s *realServer) start(t *testing.T) (answers bool) {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.addr)
	cmd, ended := exec.Command("redis-server", "--bind", host, "--port", port, "--dir", s.dir, "--save", "", "--logfile", "log"), make(chan struct{})
	cmd.SysProcAttr = endsWithTests()
	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot start redis-server: %v (on Debian: apt-get install redis-server)", err)
	}
	s.cmd, s.ended = cmd, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	own := fmt.Sprintf("process_id:%d\r\n", cmd.Process.Pid)
	until(t, "redis-server answers", func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		answer, err := s.try("INFO", "server")
		answers = err == nil && strings.Contains(answer, own)
		return answers
	})
	return answers
}

// stop kills it, frozen or not; its data is gone.
func (s *realServer) stop(t *testing.T) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

func (s *realServer) freeze(t *testing.T) { s.signal(t, syscall.SIGSTOP) }
func (s *realServer) thaw(t *testing.T)   { s.signal(t, syscall.SIGCONT) }

func (s *realServer) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// do sends one command and returns its answer, several lines of an array joined.
func (s *realServer) do(t *testing.T, args ...string) string {
	t.Helper()
	answer, err := s.try(args...)
	if err != nil || strings.HasPrefix(answer, "-") {
		t.Fatalf("%s: got %q, %v", strings.Join(args, " "), answer, err)
	}
	return answer
}

// try speaks the protocol by hand, on a connection of its own that it has the
// server close, so that the answer is all there is to read.
func (s *realServer) try(args ...string) (string, error) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	request, greeting := "", ""
	if s.password != "" {
		request, greeting = fmt.Sprintf("*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n", len(s.password), s.password), "+OK\r\n"
	}
	request += fmt.Sprintf("*%d\r\n", len(args))
	for _, arg := range args {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(conn, request+"*1\r\n$4\r\nQUIT\r\n"); err != nil {
		return "", err
	}
	if strings.Contains(strings.Join(args, " "), "PAUSE") { // the QUIT waits, too
		return bufio.NewReader(conn).ReadString('\n')
	}
	answer, err := io.ReadAll(conn)
	return strings.TrimSuffix(strings.TrimPrefix(string(answer), greeting), "+OK\r\n"), err
}
