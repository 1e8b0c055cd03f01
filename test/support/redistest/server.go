// Package redistest starts real redis-server processes on loopback: for tests,
// which use [Start], [Cluster] and [Sentinel] and never think of cleaning up,
// and for programs such as the benchmarks, which use [Run].
//
// A server here can be frozen, thawed, killed and restarted, and a [Proxy] in
// front of it can delay, hold back and lose what passes: the faults that a lock
// must survive. Every process is ended by the id it was started with. On Linux
// it also dies with the process that started it, however that ends.
package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Limits in time. They are wide because a machine that builds is slow; nothing
// waits for them when all is well.
const (
	startTimeout   = time.Minute // a server that loads its log again was seen to take 21 s
	commandTimeout = 5 * time.Second
)

// portTries bounds how often another port is tried. A free port can be taken by
// somebody else between our look at it and the server's bind.
const portTries = 8

// Server is one redis-server process and the directory it lives in. Its methods
// may be called from many goroutines.
type Server struct {
	dir      string
	port     int
	password string
	socket   string
	admin    string   // password of adminUser, empty without an ACL file
	flags    []string // of the command line, after the configuration file
	env      []string // beside that of this process

	mu      sync.Mutex // protects process; held over start and stop, not over commands
	process *process
}

// Run starts a server in dir, which must exist and be its own, on a free port
// of the loopback interface, and returns once the server answers and has proved
// to be the process just started. The caller must Close it.
func Run(dir string, options Options) (*Server, error) {
	return startOnFreePort(func() (*Server, error) { return newServer(dir, options) })
}

// startOnFreePort makes and starts a server, and does so again with another
// port when the first was taken in between.
func startOnFreePort(fresh func() (*Server, error)) (*Server, error) {
	var err error
	for range portTries {
		var s *Server
		if s, err = fresh(); err != nil {
			return nil, err
		}
		if err = s.start(); err == nil {
			return s, nil
		}
		if !errors.Is(err, errPortTaken) {
			return nil, err
		}
	}
	return nil, err
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }

// Addr is host:port of the server; it stays the same over Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is the server's redis:// address, with the password of the user default.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr()}
	if s.password != "" {
		u.User = url.UserPassword("", s.password)
	}
	return u.String()
}

// Socket is the path of the Unix socket, empty without Options.Socket.
func (s *Server) Socket() string { return s.socket }

// Dir is the directory with the server's configuration, log and data.
func (s *Server) Dir() string { return s.dir }

// Pid is the id of the running process, 0 when none runs.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.pid()
}

// Freeze stops the process as it stands (SIGSTOP). Its connections stay open,
// and the kernel still accepts new ones: nothing answers.
func (s *Server) Freeze() error { return s.signal((*process).freeze) }

// Thaw lets a frozen process go on (SIGCONT).
func (s *Server) Thaw() error { return s.signal((*process).thaw) }

func (s *Server) signal(send func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return fmt.Errorf("redistest: no server runs on %s", s.Addr())
	}
	return send(s.process)
}

// Kill ends the process at once (SIGKILL), frozen or not, and returns when it
// is gone; when none runs it does nothing. What was written to an append-only
// file is not lost by that: the kernel has it.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
}

// Restart kills the process if it still runs and starts another on the same
// port, without its data if empty is set. Without Options.AOF there is no data
// to keep.
func (s *Server) Restart(empty bool) error {
	s.Kill()
	if empty {
		if err := s.removeData(); err != nil {
			return err
		}
	}
	return s.start()
}

func (s *Server) removeData() error {
	for _, name := range []string{"appendonlydir", "appendonly.aof", "dump.rdb"} {
		if err := os.RemoveAll(s.file(name)); err != nil {
			return err
		}
	}
	return nil
}

// Close kills the process. It leaves the directory, which belongs to the
// caller, and may be called more than once.
func (s *Server) Close() { s.Kill() }

// Log is the last part of what the server logged, for messages of failed tests.
func (s *Server) Log() string {
	const last = 1024 // of each of a group, and the test's own words must stay in sight
	text, err := os.ReadFile(s.file("redis.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-last):])
}

var errPortTaken = errors.New("the port was taken by somebody else")

// start starts the process and waits until it answers.
func (s *Server) start() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return errors.New("redistest: redis-server is not in PATH: install it (Debian: apt-get install redis-server)")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return fmt.Errorf("redistest: the server on %s runs already", s.Addr())
	}
	p, err := startProcess(path, append([]string{s.file("redis.conf")}, s.flags...), s.dir, s.env...)
	if err != nil {
		return fmt.Errorf("redistest: start redis-server: %w", err)
	}
	if err := s.await(p); err != nil {
		p.kill()
		return fmt.Errorf("redistest: redis-server on %s: %w; its log ends:\n%s", s.Addr(), err, s.Log())
	}
	s.process = p
	return nil
}

// await polls until the server answers and says that it is p.
func (s *Server) await(p *process) error {
	var last error
	for end := time.Now().Add(startTimeout); time.Now().Before(end); {
		select {
		case <-p.done:
			if strings.Contains(s.Log(), "Address already in use") {
				return errPortTaken
			}
			return fmt.Errorf("ended at once: %s", strings.TrimSpace(p.output.String()))
		case <-time.After(2 * time.Millisecond):
		}
		var info string
		if info, last = s.Do("INFO"); last != nil {
			continue // not up yet
		}
		if field(info, "process_id") != strconv.Itoa(p.pid()) {
			return errPortTaken
		}
		if field(info, "loading") != "1" { // INFO is answered while data is loaded, little else
			return nil
		}
	}
	return fmt.Errorf("not ready within %s: %v", startTimeout, last)
}

// Error is an error that the server answered, word for word.
type Error string

func (e Error) Error() string { return string(e) }

// Do sends one command on a connection of its own and returns the answer as
// text: integers in decimal, an array as its elements on a line each, nil as
// the empty text (ask EXISTS to tell the two apart). A refusal of the server is
// an Error. A server that is frozen is given up on after five seconds.
func (s *Server) Do(args ...any) (string, error) { return s.do(args) }

// DoHere is Do for a node of a Cluster that may be a replica: it answers by
// what it has itself.
func (s *Server) DoHere(args ...any) (string, error) { return s.do([]any{"READONLY"}, args) }

// do sends commands and returns the answer to the last.
func (s *Server) do(commands ...[]any) (answer string, err error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), commandTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(commandTimeout)); err != nil {
		return "", err
	}
	answers := bufio.NewReader(conn)
	if s.admin != "" {
		if _, err := roundTrip(conn, answers, []any{"AUTH", adminUser, s.admin}); err != nil {
			return "", err
		}
	}
	for _, args := range commands {
		if answer, err = roundTrip(conn, answers, args); err != nil {
			return "", err
		}
	}
	return answer, nil
}

// MustDo is Do for tests: an error ends the test.
func (s *Server) MustDo(t testing.TB, args ...any) string {
	t.Helper()
	text, err := s.Do(args...)
	if err != nil {
		t.Fatalf("%v on %s: %v", args, s.Addr(), err)
	}
	return text
}

func roundTrip(w io.Writer, r *bufio.Reader, args []any) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		text := fmt.Sprint(arg)
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(text), text)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return "", err
	}
	return readReply(r)
}

// readReply reads one RESP2 reply. An error inside an array is returned as the
// error of the whole, after the whole was read.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", errors.New("redistest: an empty line where a reply should begin")
	}
	rest := line[1:]
	switch line[0] {
	case '+', ':':
		return rest, nil
	case '-':
		return "", Error(rest)
	case '$', '*':
	default:
		return "", fmt.Errorf("redistest: not a reply: %q", line)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return "", err
	}
	if line[0] == '$' {
		text := make([]byte, n+2)
		_, err := io.ReadFull(r, text)
		return string(text[:n]), err
	}
	return readElements(r, n)
}

func readElements(r *bufio.Reader, n int) (string, error) {
	elements := make([]string, n)
	var refused error
	for i := range elements {
		text, err := readReply(r)
		if e := Error(""); errors.As(err, &e) {
			refused = err
		} else if err != nil {
			return "", err
		}
		elements[i] = text
	}
	return strings.Join(elements, "\n"), refused
}
