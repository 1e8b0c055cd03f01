// Package guarded prepares the scripts of Lease.Eval. [Scripts] puts the guard before a script:
// Lua that checks in Redis that the lease is held. [Check] refuses scripts and keys that the
// guard cannot protect.
package guarded

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
)

// Scripts remembers the scripts of Lease.Eval, with guard and SHA, so that only the first use
// of a script pays for these. A program has a handful. One that makes a new script for each
// call fills the memory of Redis, so Scripts is bounded. The zero value is ready.
type Scripts struct {
	mu    sync.Mutex // guards the rest
	known map[string]*driver.Script
	size  int // bytes of their sources
}

const (
	maxGuarded     = 128
	maxGuardedSize = 1 << 20
)

// Of returns source behind the guard.
func (g *Scripts) Of(source string) *driver.Script {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.known[source]; s != nil {
		return s
	}
	if g.size += len(source); g.known == nil || len(g.known) == maxGuarded || g.size > maxGuardedSize {
		g.known, g.size = make(map[string]*driver.Script), len(source)
	}
	s := script.Guarded(source)
	g.known[source] = s
	return s
}

// Check returns an error if Eval can't run source with these keys. own are the keys of the
// lock. sharded: the keys are spread over the nodes of a Cluster.
func Check(source string, own *keyspace.Keys, keys []string, sharded bool) error {
	if strings.HasPrefix(source, "#!") {
		return errors.New(`a script for Eval can't begin with "#!": holdfast puts code before it, so Redis would not read the flags`)
	}
	l := own.Lock()
	for _, key := range keys {
		switch {
		case key == l || strings.HasPrefix(key, keyspace.Reserved):
			return fmt.Errorf("key %q belongs to the lock: a script for Eval can't use it", keyspace.Shorten(key))
		case sharded && keyspace.Slot(key) != keyspace.Slot(l):
			return fmt.Errorf("key %q is in slot %d of the Cluster, the lock %q in slot %d: all keys of a script must be in one slot; give them a common hash tag, such as {%s}", keyspace.Shorten(key), keyspace.Slot(key), keyspace.Shorten(l), keyspace.Slot(l), keyspace.Tag(l))
		}
	}
	return nil
}
