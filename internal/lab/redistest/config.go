package redistest

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
