package holdfast

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
)

// Ids of a name share a line while the name is in use; of one that is not nothing is
// kept, and never of more names than there is room for.
func TestBareLinesAreForgotten(t *testing.T) {
	c := &core{}
	bare := func(name string, at time.Duration) *line {
		return (&line{c: c, name: name, shared: &shared{}}).bare(clock.Instant(0).Add(at))
	}
	used, once := bare("used", 0), bare("once", 0)
	for at := time.Duration(0); at < 5*time.Minute; at += 20 * time.Second {
		if bare("used", at) != used {
			t.Fatalf("a name in use has another line after %v", at)
		}
	}
	if _, kept := c.bare.older["once"]; kept || len(c.bare.newer) != 1 {
		t.Errorf("of names that are not used are kept %d", len(c.bare.newer)+len(c.bare.older)-2)
	}
	if bare("once", 5*time.Minute) == once {
		t.Error("a name that was not used for minutes has its old line")
	}
	for i := range 3 * maxBare {
		bare(fmt.Sprint(i), 5*time.Minute)
	}
	if n := len(c.bare.newer) + len(c.bare.older); n > 2*maxBare {
		t.Errorf("%d are kept, want %d at most", n, 2*maxBare)
	}
}
