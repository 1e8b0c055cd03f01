package holdfast

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

func FuzzStates(f *testing.F) {
	f.Add("leader\x001\x00c.n.15000|o\x00-1\x0077")
	f.Fuzz(func(_ *testing.T, text string) {
		c := &core{}
		_, _ = c.decodeLeader(strings.Split(text, "\x00"))
	})
}

func FuzzExports(f *testing.F) {
	f.Add("holdfast:", "invoice:42", "c.n.15000|host:1", "holdfast1-AAAA", false, "")
	f.Add("holdfast:", "scheduler", "c.n.15000|host:1", "holdfast1-AAAA", true, "10.0.0.3:8080")
	f.Fuzz(func(t *testing.T, prefix, name, id, text string, leads bool, value string) {
		_, _ = parseExport(text)
		if _, ok := keyspace.ParseID(id); !ok || strings.Contains(prefix+name+id, "\x00") || checkValue(value) != nil || !leads && value != "" {
			return
		}
		x := exported{prefix, name, id, int64(len(text)), int64(len(name)), leads, value}
		if got, err := parseExport(x.text()); err != nil || got != x {
			t.Fatalf("%+v reads as %+v, %v", x, got, err)
		}
	})
}

func TestPushedStartIsNeverTooLate(t *testing.T) {
	ten := &tenure{first: clock.Instant(time.Second)}
	now := clock.Instant(10 * time.Second)
	if got := ten.pushStart(0, 0, now); got != ten.first {
		t.Errorf("without an answer: got %v, want the first request %v", got, ten.first)
	}
	if got, want := ten.pushStart(0, clock.Instant(3*time.Second), now), clock.Instant(3*time.Second); got != want {
		t.Errorf("new subscription: got %v, want %v", got, want)
	}
	ten.pair = exchange{sent: clock.Instant(4 * time.Second), server: 1_000_000}
	if got, want := ten.pushStart(3_000_000, 0, now), clock.Instant(6*time.Second-20*time.Millisecond); got != want {
		t.Errorf("with a pair: got %v, want %v", got, want)
	}
	if got := ten.pushStart(100_000_000, 0, now); got != now {
		t.Errorf("a grant from the future: got %v, want now", got)
	}
}
