package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// SentinelMaster is the name under which the sentinels know their master.
const SentinelMaster = "main"

// Watched is a master with its replicas, and the sentinels that watch them.
type Watched struct {
	Master    *Server
	Replicas  []*Server
	Sentinels []*Server

	promoted time.Time // the newest failover
}

// failoverTimeout is the sentinels' own; they begin none for twice as long after
// the last.
const failoverTimeout = 2 * time.Second

// Sentinel runs a master, so many replicas and three sentinels for the length
// of a test. It returns once the replicas are in sync and every sentinel knows
// all the others. A master that is silent for half a second is replaced, about
// two seconds later writes succeed again.
func Sentinel(t testing.TB, replicas int) Watched {
	t.Helper()
	const sentinels, quorum = 3, 2
	g := Watched{Master: Start(t, Options{Config: []string{"repl-diskless-sync-delay 0"}})}
	g.Replicas = Replicas(t, g.Master, replicas)
	for range sentinels {
		g.Sentinels = append(g.Sentinels, startSentinel(t, g.Master, quorum))
	}
	for _, s := range g.Sentinels {
		await(t, "the sentinels know each other", func() bool {
			others, err := s.Do("SENTINEL", "CKQUORUM", SentinelMaster)
			info, infoErr := s.Do("INFO", "sentinel")
			want := fmt.Sprintf("slaves=%d,sentinels=%d", replicas, sentinels)
			return err == nil && infoErr == nil && others != "" && strings.Contains(info, want)
		})
	}
	return g
}

// URL is the sentinel:// address of the master.
func (g *Watched) URL() string {
	addresses := make([]string, len(g.Sentinels))
	for i, s := range g.Sentinels {
		addresses[i] = s.Addr()
	}
	return "sentinel://" + strings.Join(addresses, ",") + "/" + SentinelMaster
}

func startSentinel(t testing.TB, master *Server, quorum int) *Server {
	t.Helper()
	dir := tempDir(t)
	s, err := startOnFreePort(func() (*Server, error) { return newSentinel(dir, master, quorum) })
	if err != nil {
		t.Fatal(err)
	}
	keep(t, s)
	return s
}

func newSentinel(dir string, master *Server, quorum int) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, port: port, flags: []string{"--sentinel"}}
	return s, s.writeConfig([]string{
		"bind 127.0.0.1",
		"port " + strconv.Itoa(port),
		"dir " + strconv.Quote(dir),
		"logfile redis.log",
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", SentinelMaster, master.port, quorum),
		"sentinel down-after-milliseconds " + SentinelMaster + " 500",
		fmt.Sprintf("sentinel failover-timeout %s %d", SentinelMaster, failoverTimeout.Milliseconds()),
	})
}
