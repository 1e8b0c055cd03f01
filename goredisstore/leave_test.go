package goredisstore

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// bare is a wrapper that has what New asks for and hides how many connections there are.
type bare struct {
	Client
	options *redis.Options
}

func (b bare) Options() *redis.Options { return b.options }

// If the store cannot leave idle connections, it says once what the program has to add.
func TestLeaveNeedsPoolStats(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = client.Close() }()
	s := New(bare{client, client.Options()})
	s.leave()
	s.leave()
	if got := log.String(); strings.Count(got, "PoolStats") != 1 || !strings.Contains(got, "127.0.0.1:1") {
		t.Errorf("logged %q, want one line with the server and the method", got)
	}
}
