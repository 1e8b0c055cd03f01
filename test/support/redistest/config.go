package redistest

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Options say how a server differs from the plain one, which keeps nothing on
// disk, has no password and no limit. The zero value is the plain one.
type Options struct {
	Password  string   // of the user default; empty: none
	ACL       []string // lines of an ACL file, e.g. "user app on >pw ~holdfast* +@all"
	AOF       bool     // append-only file: the data outlives Kill and Restart
	MaxMemory string   // e.g. "10mb", with policy noeviction unless Config says otherwise
	Socket    bool     // listen on a Unix socket too, see Server.Socket
	Config    []string // more lines of redis.conf, e.g. "maxmemory-policy allkeys-lru"
	Env       []string // more variables of its environment, e.g. "LD_PRELOAD=…"
}

// newServer picks a port and writes the files; it starts nothing.
func newServer(dir string, options Options) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, port: port, password: options.Password, env: options.Env}
	if options.Socket {
		s.socket = filepath.Join(dir, "redis.sock")
	}
	lines := []string{
		"bind 127.0.0.1",
		"port " + strconv.Itoa(port),
		"dir " + strconv.Quote(dir),
		`save ""`,
		"logfile redis.log",
		"appendonly " + map[bool]string{false: "no", true: "yes"}[options.AOF],
	}
	if s.socket != "" {
		lines = append(lines, "unixsocket "+strconv.Quote(s.socket))
	}
	if options.MaxMemory != "" {
		lines = append(lines, "maxmemory "+options.MaxMemory)
	}
	if options.Password != "" || len(options.ACL) > 0 {
		if err := s.writeACL(options); err != nil {
			return nil, err
		}
		lines = append(lines, "aclfile "+strconv.Quote(s.file("users.acl")))
	}
	return s, s.writeConfig(append(lines, options.Config...))
}

// adminUser is the user by which this package talks to a server with an ACL, so
// that no rule a test makes can lock the test out.
const adminUser = "redistest"

func (s *Server) writeACL(options Options) error {
	s.admin = rand.Text()
	users := []string{allPowerful(adminUser, s.admin)}
	if options.Password != "" {
		users = append(users, allPowerful("default", options.Password))
	}
	users = append(users, options.ACL...)
	return os.WriteFile(s.file("users.acl"), []byte(strings.Join(users, "\n")+"\n"), 0o600)
}

// allPowerful gives the password as its hash, which needs no quoting.
func allPowerful(user, password string) string {
	return fmt.Sprintf("user %s on #%x ~* &* +@all", user, sha256.Sum256([]byte(password)))
}

func (s *Server) writeConfig(lines []string) error {
	return os.WriteFile(s.file("redis.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// CommandStats says how often each command ran since the start or CONFIG RESETSTAT,
// by its name in lower case, subcommands as "config|get"; "total" is the sum.
// What a script calls counts under its own name and in the total, so the
// commands that clients sent are "evalsha", "eval" and what no script uses.
// The look itself is not in it, but counts for the next one.
func (s *Server) CommandStats() (map[string]int64, error) {
	info, err := s.Do("INFO", "commandstats")
	if err != nil {
		return nil, err
	}
	calls := map[string]int64{"total": 0}
	for line := range strings.Lines(info) {
		name, values, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || !strings.HasPrefix(name, "cmdstat_") {
			continue
		}
		value, _, _ := strings.Cut(strings.TrimPrefix(values, "calls="), ",")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("redistest: commandstats line %q: %w", line, err)
		}
		calls[strings.TrimPrefix(name, "cmdstat_")] = n
		calls["total"] += n
	}
	return calls, nil
}

// Info returns the fields of a section of INFO.
func (s *Server) Info(section string) (map[string]string, error) {
	text, err := s.Do("INFO", section)
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, err
}

// field finds name in the answer of INFO, empty if it is not there.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Replicas gives a master so many replicas for the length of a test, and returns
// when all are in sync.
func Replicas(t testing.TB, master *Server, n int) []*Server {
	t.Helper()
	replicas := make([]*Server, n)
	for i := range replicas {
		replicas[i] = Start(t, Options{Config: []string{"repl-diskless-sync-delay 0"}})
		replicas[i].Follow(t, master)
	}
	return replicas
}

// Follow makes the server a replica of a master, and returns when it is in sync
// and the master counts on it.
func (s *Server) Follow(t testing.TB, master *Server) {
	t.Helper()
	s.MustDo(t, "REPLICAOF", "127.0.0.1", strconv.Itoa(master.port))
	await(t, "the replica on "+s.Addr()+" is in sync", func() bool {
		info, err := s.Do("INFO", "replication")
		known, masterErr := master.Do("INFO", "replication")
		return err == nil && masterErr == nil && field(info, "master_link_status") == "up" &&
			strings.Contains(known, fmt.Sprintf("port=%d,state=online", s.port))
	})
}
