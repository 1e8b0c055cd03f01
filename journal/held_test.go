package journal_test

import (
	"errors"
	"iter"
	"maps"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/journal"
)

func each(entries []journal.Entry, end error) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if end != nil {
			yield(journal.Entry{}, end)
		}
	}
}

func TestHeldSince(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(1e9, 0).Add(time.Duration(minute) * time.Minute) }
	entry := func(minute int, event journal.Event, owner string, token int64) journal.Entry {
		return journal.Entry{At: at(minute), Event: event, Name: "pool", Owner: owner, Token: token, Writer: "w"}
	}
	exported := entry(9, journal.Exported, "a", 1)
	exported.Held = time.Minute
	for what, c := range map[string]struct {
		entries []journal.Entry // the newest first
		err     error
		owners  []string
		want    map[string]time.Time
	}{
		"open grants": {[]journal.Entry{entry(2, journal.Granted, "b", 2), entry(1, journal.Granted, "a", 1)}, nil,
			[]string{"a", "b"}, map[string]time.Time{"a": at(1), "b": at(2)}},
		"an earlier lease goes on": {[]journal.Entry{entry(3, journal.Released, "a", 2), entry(2, journal.Granted, "a", 2), entry(1, journal.Granted, "a", 1)}, nil,
			[]string{"a"}, map[string]time.Time{"a": at(1)}},
		"all have ended":   {[]journal.Entry{entry(3, journal.Lost, "a", 2), entry(2, journal.Granted, "a", 2)}, nil, []string{"a"}, nil},
		"the newest":       {[]journal.Entry{entry(2, journal.Granted, "a", 2), entry(1, journal.Granted, "a", 1)}, nil, []string{"a"}, map[string]time.Time{"a": at(2)}},
		"one owner twice":  {[]journal.Entry{entry(2, journal.Granted, "a", 2), entry(1, journal.Granted, "a", 1)}, nil, []string{"a", "a"}, nil},
		"no owner":         {[]journal.Entry{entry(2, journal.Granted, "", 2)}, nil, []string{""}, nil},
		"exported":         {[]journal.Entry{exported, entry(8, journal.Granted, "a", 1)}, nil, []string{"a"}, map[string]time.Time{"a": at(8)}},
		"exported and old": {[]journal.Entry{entry(10, journal.Released, "a", 1), exported, entry(8, journal.Granted, "a", 1)}, nil, []string{"a"}, nil},
		"a foreign entry":  {[]journal.Entry{entry(2, journal.Granted, "a", 1)}, errors.New("no answer"), []string{"a", "b"}, map[string]time.Time{"a": at(2)}},
	} {
		if got := journal.HeldSince(each(c.entries, c.err), c.owners); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", what, got, c.want)
		}
	}
}
