//go:build unix

package show

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
)

// Who may write to Redis can write entries that no writer of ours makes: what a terminal
// would act on is spelled out in each of their parts.
func TestWatchHostile(t *testing.T) {
	for _, e := range []journal.Entry{
		{Event: "odd\x1b[2J", Name: "n", Owner: "me"},
		{Event: journal.Lost, Name: "n\x1b[2J", Owner: "me\u202e", Cause: "\x1b[2J", Reason: "\x1b[31m"},
		{Event: journal.Skipped, Name: "n", Owner: "me", Reason: "\x1b[2J"},
		{Event: journal.Dropped, Name: "n", Owner: "\x1b[2J", N: 3},
	} {
		var out strings.Builder
		a := &cli.App{Stdout: &out}
		if err := printEntry(a, e); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != view.Text(got) || !strings.Contains(got, `\x1b[2J`) {
			t.Errorf("got %q", got)
		}
	}
}
