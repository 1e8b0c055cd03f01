package holdfast

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// bares are the bare lines of names that were used lately: in the last minute or two,
// and of so many names at most.
type bares struct {
	newer, older map[string]*line
	since        clock.Instant // when the newer ones began
}

const (
	bareAge = time.Minute
	maxBare = 1 << 10
)

// bare is as much of a line as it takes to end an id of it. Ids are remembered by
// the ten thousand, and in the shared kinds each had a line of its own: theirs
// share the bare line of their name.
func (l *line) bare(now clock.Instant) *line {
	if l.shared == nil {
		return l
	}
	b := &l.c.bare
	if b.newer == nil || now.Sub(b.since) > bareAge || len(b.newer) == maxBare {
		b.older, b.newer, b.since = b.newer, make(map[string]*line), now
	}
	bare := b.newer[l.name]
	if bare == nil {
		if bare = b.older[l.name]; bare == nil {
			bare = &line{c: l.c, name: l.name, keys: l.keys, shard: l.shard, shared: &shared{keys: l.shared.keys}}
		}
		b.newer[l.name] = bare
	}
	return bare
}
