//go:build unix

package take

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

func TestTickAt(t *testing.T) {
	epoch := time.Unix(0, 0)
	for text, want := range map[string]time.Time{
		"": {}, "0": epoch, "10m": epoch.Add(10 * time.Minute), "2026-01-05T09:00:00+01:00": time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC),
	} {
		if got, err := tickAt(text, time.Hour); err != nil || !got.Equal(want) {
			t.Errorf("--at %q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"1h", "-1m", "noon"} {
		if _, err := tickAt(text, time.Hour); err == nil {
			t.Errorf("--at %q: got no error", text)
		}
	}
	for _, flags := range [][]string{{"every", "wait"}, {"every", "min-hold"}, {"every", "of"}, {"at"}} {
		o := Options{TTL: holdfast.DefaultTTL, Every: time.Hour, Kind: Kind{permits: 1}}
		given := map[string]bool{}
		for _, f := range flags {
			given[f] = true
		}
		if given["wait"] {
			o.Wait = time.Second
		}
		if given["min-hold"] {
			o.MinHold = time.Second
		}
		if given["of"] {
			o.Kind.size = 3
		}
		var wrong *cli.ExitError
		if err := o.Check(func(f string) bool { return given[f] }); !errors.As(err, &wrong) {
			t.Errorf("%v: got %v, want a mistake of the command line", flags, err)
		}
	}
}
