//go:build unix

package console

import (
	"log/slog"
	"strings"
	"testing"
)

// What the library logs has its name in front once, and the rest in one line.
func TestTalk(t *testing.T) {
	var said strings.Builder
	log := slog.New(NewHandler(NewLines(&said), slog.LevelWarn))
	log.Warn("holdfast: clean-up failed\x1b[2J", "name", "job")
	log.Info("not this")
	if got, want := said.String(), "holdfast: clean-up failed\\x1b[2J name=job\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
