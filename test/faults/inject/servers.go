//go:build linux

package inject

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/topology"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

var (
	single  = []topology.Kind{topology.Standalone, topology.AOF, topology.AOFLazy}
	durable = []topology.Kind{topology.AOF, topology.AOFLazy}
	notYet  = []topology.Kind{topology.Standalone, topology.AOF, topology.AOFLazy, topology.Sentinel, topology.Cluster}
)

// ofServers hit a server of one master, of a Sentinel group, or of a Cluster.
var ofServers = []Fault{
	{
		Name: "server-restarted-empty", Topologies: []topology.Kind{topology.Standalone}, Loses: true,
		Strike: killed(func(s *redistest.Server) error { return s.Restart(true) }),
		Lasts:  briefly,
	},
	{
		Name: "server-restarted", Topologies: durable,
		Strike: written(killed(func(s *redistest.Server) error { return s.Restart(false) })),
		Lasts:  briefly,
	},
	{
		Name: "server-restarted-tail-cut", Topologies: durable, Loses: true,
		Strike: killed(func(s *redistest.Server) error {
			if err := cutTail(s.Dir(), 20_000); err != nil {
				return err
			}
			return s.Restart(false)
		}),
		Lasts: briefly,
	},
	{
		Name: "server-frozen", Topologies: single,
		Strike: func(s *Scene) (string, func() error, error) {
			server := s.server()
			return server.Addr(), server.Thaw, server.Freeze()
		},
	},
	{Name: "flushall", Topologies: notYet, Loses: true, Strike: command("FLUSHALL"), Lasts: briefly},
	{Name: "script-flush", Topologies: notYet, Strike: command("SCRIPT", "FLUSH"), Lasts: briefly},
	{
		Name: "connections-killed", Topologies: notYet, Lasts: briefly,
		Strike: func(s *Scene) (string, func() error, error) {
			server := s.server()
			kind := []string{"normal", "pubsub"}[s.Random.IntN(2)]
			_, err := server.Do("CLIENT", "KILL", "TYPE", kind)
			return server.Addr() + " " + kind, nil, err
		},
	},
	{
		Name: "client-pause", Topologies: notYet, Lasts: briefly,
		Strike: func(s *Scene) (string, func() error, error) {
			server := s.server()
			_, err := server.Do("CLIENT", "PAUSE", s.upTo(s.TTL*13/10).Milliseconds()+1)
			return server.Addr(), nil, err
		},
	},
	{Name: "busy-script", Topologies: notYet, Strike: busy, Lasts: briefly},
	{Name: "full-memory", Topologies: notYet, Strike: full("noeviction")},
	{Name: "evicted", Topologies: []topology.Kind{topology.Standalone, topology.AOF}, Loses: true, Strike: full("allkeys-lru"), Lasts: briefly},
	{
		Name: "maxclients", Topologies: single,
		Strike: func(s *Scene) (string, func() error, error) {
			server := s.server()
			conn, err := net.Dial("tcp", server.Addr()) // stays: no other gets in while it lasts
			if err != nil {
				return "", nil, err
			}
			err = inline(conn, "CONFIG SET maxclients 2", "CLIENT KILL TYPE normal")
			return server.Addr(), func() error {
				defer conn.Close()
				return inline(conn, "CONFIG SET maxclients 10000")
			}, err
		},
	},
	{
		Name: "readonly", Topologies: single,
		Strike: func(s *Scene) (string, func() error, error) {
			server := s.server()
			_, err := server.Do("REPLICAOF", "127.0.0.1", "1") // where nobody is
			return server.Addr(), func() error { _, err := server.Do("REPLICAOF", "NO", "ONE"); return err }, err
		},
	},
}

// written strikes a server that has written to its file what it has answered. With appendfsync
// everysec Redis keeps writes back for up to two seconds while a sync is under way, and a
// kill loses those.
func written(begin strike) strike {
	return func(s *Scene) (string, func() error, error) {
		if s.Topology.Kind == topology.AOFLazy {
			if _, err := s.Topology.Servers[0].Do("CONFIG", "SET", "appendfsync", "no"); err != nil {
				return "", nil, err
			}
		}
		return begin(s)
	}
}

// briefly is as long as a restart may take, or the pause between two blows.
func briefly(s *Scene) time.Duration { return s.upTo(s.TTL / 4) }

// command is a fault that is one command.
func command(args ...any) strike {
	return func(s *Scene) (string, func() error, error) {
		server := s.server()
		_, err := server.Do(args...)
		return server.Addr(), nil, err
	}
}

// killed ends a server as kill -9 does; back brings it back.
func killed(back func(*redistest.Server) error) strike {
	return func(s *Scene) (string, func() error, error) {
		server := s.server()
		server.Kill()
		return server.Addr(), func() error { return back(server) }, nil
	}
}

// full leaves a server no memory, with what it does then.
func full(policy string) strike {
	return func(s *Scene) (string, func() error, error) {
		server := s.server()
		limit := func(memory, policy string) error {
			_, err := server.Do("CONFIG", "SET", "maxmemory", memory, "maxmemory-policy", policy)
			return err
		}
		return server.Addr(), func() error { return limit("0", "noeviction") }, limit("1mb", policy)
	}
}

// inline sends commands on a connection and reads their answers, a line each.
func inline(conn net.Conn, commands ...string) error {
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	answers := bufio.NewReader(conn)
	for _, command := range commands {
		if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
			return err
		}
		line, err := answers.ReadString('\n')
		if err != nil || line[0] == '-' {
			return fmt.Errorf("%s: %q, %v", command, line, err)
		}
	}
	return nil
}

// busy runs a script for up to 1.3 TTL. Nothing else is answered meanwhile: the
// limit after which a server says BUSY is five seconds.
func busy(s *Scene) (string, func() error, error) {
	server := s.server()
	const loop = `local n = 0
for i = 1, ARGV[1] * 20000 do n = (n * 31 + i) % 1000003 end
return n`
	done := make(chan error, 1)
	length := s.upTo(s.TTL).Milliseconds()
	go func() {
		_, err := server.Do("EVAL", loop, 0, length)
		done <- err
	}()
	return server.Addr(), func() error {
		err := <-done
		for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			_, err = server.Do("PING") // on a busy machine the script takes longer than we wait for it
		}
		return err
	}, nil
}

// cutTail takes the last bytes of an append-only file away; a write has about a
// hundred.
func cutTail(dir string, bytes int64) error {
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no append-only file in %s: %v", dir, err)
	}
	name := files[len(files)-1]
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.Truncate(name, max(0, info.Size()-bytes))
}
