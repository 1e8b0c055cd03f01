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
	p, _ := newTestProcess(Settings{})
	now, n := clock.Instant(0), &Name{}
	for what, of := range map[string]*memory.For[*Name]{"given up": &p.givenUpIDs, "past": &p.endedIDs, "exported": &p.exportedIDs} {
		of.Add("first", n, now, time.Hour)
		for i := range 1 << 16 {
			of.Add(fmt.Sprint(i), n, now, time.Hour)
		}
		if of.Of("first") != nil {
			t.Errorf("%s: more than %d ids are remembered", what, 1<<16)
		}
	}
}

// Ids of a name share a line while the name is in use. Of a name that is not in use nothing
// is kept, and never of more names than there is room for.
func TestRememberedNamesAreForgotten(t *testing.T) {
	p, _ := newTestProcess(Settings{})
	bare := func(name string, at time.Duration) *Name {
		return (&Name{p: p, Name: name, Kind: p.SharedKind(keyspace.Reader, 1, WholeCapacity)}).remembered(clock.Instant(0).Add(at))
	}
	used, once := bare("used", 0), bare("once", 0)
	for at := time.Duration(0); at < 5*time.Minute; at += 20 * time.Second {
		if bare("used", at) != used {
			t.Fatalf("a name in use has another line after %v", at)
		}
	}
	if bare("once", 5*time.Minute) == once {
		t.Error("a name that was not used for minutes has its old line")
	}
	for i := range 3 << 10 {
		bare(fmt.Sprint(i), 5*time.Minute)
	}
	if n := p.remembered.Len(); n > 2<<10 {
		t.Errorf("%d are kept, want %d at most", n, 2<<10)
	}
}
