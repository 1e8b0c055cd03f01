package journal_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// stream is a store with entries that are there already, "writer seq" each: entry i has
// the ID i+1.
type stream struct {
	driver.Store // nil: what a reader does not need
	entries      []string
}

func (s *stream) Eval(_ context.Context, call driver.Call) ([]string, error) {
	least, behind := bound(call.Args[0])
	if behind {
		least++
	}
	most, _ := bound(call.Args[1])
	var ids []int
	for i := max(least, 1); i <= min(most, len(s.entries)); i++ {
		ids = append(ids, i)
	}
	if call.Args[2] == "back" {
		slices.Reverse(ids)
	}
	ids = ids[:min(len(ids), 500)]
	reply := []string{"read", "0", "1-0", strconv.Itoa(len(s.entries)) + "-0", strconv.Itoa(len(ids)), ""}
	for _, i := range ids {
		writer, seq, _ := strings.Cut(s.entries[i-1], " ")
		reply[5] = strconv.Itoa(i) + "-0"
		reply = append(reply, reply[5], writer, seq, "0", "0", "0", "skipped", "n", "o", "0", "")
	}
	return reply, nil
}

// bound reads an ID. behind: the entry with that number is before it.
func bound(id string) (ms int, behind bool) {
	first, second, _ := strings.Cut(id, "-")
	ms, _ = strconv.Atoi(first)
	return ms, second != "0"
}

func (s *stream) read(t *testing.T, q journal.Query) (got []string) {
	t.Helper()
	for e, err := range journal.Read(t.Context(), s, q) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Writer+" "+strconv.FormatInt(e.Seq, 10))
	}
	return got
}

// A batch that was sent again may come to the stream before what it repeats, and so may
// what was written after it. Each entry is read once, in either order.
func TestReadOfALateRepeat(t *testing.T) {
	s := &stream{entries: strings.Split("a 0,a 1,a 2,b 0,a 3,a 4,a 0,a 1,a 5", ",")}
	want := strings.Split("a 0,a 1,a 2,b 0,a 3,a 4,a 5", ",")
	if got := s.read(t, journal.Query{}); !slices.Equal(got, want) {
		t.Errorf("oldest first: got %q, want %q", got, want)
	}
	want = strings.Split("a 5,a 1,a 0,a 4,a 3,b 0,a 2", ",")
	if got := s.read(t, journal.Query{Newest: true}); !slices.Equal(got, want) {
		t.Errorf("newest first: got %q, want %q", got, want)
	}
}

// Who reads remembers Writers for a while and not for ever: thousands that were heard
// of since, and not tens of thousands.
func TestRecentForgets(t *testing.T) {
	for between, want := range map[int]int{8_000: 1, 21_000: 2} {
		s := &stream{entries: []string{"a 0"}}
		for i := range between {
			s.entries = append(s.entries, "w"+strconv.Itoa(i)+" 0")
		}
		s.entries = append(s.entries, "a 0")
		for _, newest := range []bool{false, true} {
			if got := len(s.read(t, journal.Query{Newest: newest})) - between; got != want {
				t.Errorf("%d entries in between, newest first %v: it was read %d times, want %d", between, newest, got, want)
			}
		}
	}
}
