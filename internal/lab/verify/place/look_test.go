//go:build linux

package place_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/holdfast-go/holdfast/internal/lab/verify/place"
)

// All that is left of the names with a prefix is seen, with who is in it and whether
// it has an end.
func TestLookSeesWhatIsLeft(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for _, command := range []string{
		"SET v1:a c.1.200|m0 PX 100000", "ZADD holdfast/queue:{v1:a} 1 c.2.200|m1 2 c.3.200|m2", "SET holdfast/fence:{v1:a} 77 PX 100000",
		"HSET v1:b kind semaphore", "ZADD holdfast/holders:{v1:b} 1 c.4.200.s1|m3", "SET v2:a c.9.200|m9",
	} {
		var args []any
		for _, word := range strings.Fields(command) {
			args = append(args, word)
		}
		server.MustDo(t, args...)
	}
	p := &place.Place{Servers: []*redistest.Server{server}}
	left, err := p.Look("v1:")
	if err != nil {
		t.Fatal(err)
	}
	for i := range left {
		if left[i].Life > 0 && left[i].Life <= 100*time.Second {
			left[i].Life = time.Second // it ends
		}
		if len(left[i].IDs) == 0 {
			left[i].IDs = nil
		}
	}
	slices.SortFunc(left, func(a, b place.Left) int { return strings.Compare(a.Key, b.Key) })
	want := []place.Left{
		{Key: "holdfast/fence:{v1:a}", Life: time.Second},
		{Key: "holdfast/holders:{v1:b}", Life: -time.Millisecond, Holds: true, IDs: []string{"c.4.200.s1|m3"}},
		{Key: "holdfast/queue:{v1:a}", Life: -time.Millisecond, IDs: []string{"c.2.200|m1", "c.3.200|m2"}},
		{Key: "v1:a", Life: time.Second, Holds: true, IDs: []string{"c.1.200|m0"}},
		{Key: "v1:b", Life: -time.Millisecond, Holds: true},
	}
	if !reflect.DeepEqual(left, want) {
		t.Errorf("got\n%+v, want\n%+v", left, want)
	}
}
