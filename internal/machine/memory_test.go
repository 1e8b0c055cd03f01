package machine

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/memory"
)

// A Client remembers a bounded number of ids, and each id for a bounded time.
func TestIDsAreRememberedInBounds(t *testing.T) {
	c, _ := newTestClient(Settings{})
	now, n := clock.Instant(0), &Name{}
	for what, of := range map[string]*memory.For[*Name]{"given up": &c.givenUpIDs, "past": &c.endedIDs, "exported": &c.exportedIDs} {
		of.Add("first", n, now, time.Hour)
		for i := range 1 << 16 {
			of.Add(fmt.Sprint(i), n, now, time.Hour)
		}
		if of.Of("first") != nil {
			t.Errorf("%s: more than %d ids are remembered", what, 1<<16)
		}
	}
}

// The remembered ids of a name share one local name while the name is in use. An unused name is
// forgotten, and the number of names is bounded.
func TestRememberedNamesAreForgotten(t *testing.T) {
	c, _ := newTestClient(Settings{})
	local := func(name string, at time.Duration) *Name {
		n := &Name{client: c, Text: name, Kind: SharedKind(c.Owner, c.defaultKind.Terms, keyspace.Reader, 1, WholeCapacity)}
		ended := c.newTenure(n)
		c.endTenure(ended, clock.Instant(0).Add(at))
		return c.endedIDs.Of(ended.ID)
	}
	used, once := local("used", 0), local("once", 0)
	for at := time.Duration(0); at < 5*time.Minute; at += 20 * time.Second {
		if local("used", at) != used {
			t.Fatalf("a name in use has another local name after %v", at)
		}
	}
	if local("once", 5*time.Minute) == once {
		t.Error("a name that was not used for minutes has its old local name")
	}
	for i := range 3 << 10 {
		local(fmt.Sprint(i), 5*time.Minute)
	}
	if n := c.remembered.Len(); n > 2<<10 {
		t.Errorf("%d are remembered, want %d at most", n, 2<<10)
	}
}
