package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

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

// Promote makes a replica a master.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.MustDo(t, "REPLICAOF", "NO", "ONE")
}
