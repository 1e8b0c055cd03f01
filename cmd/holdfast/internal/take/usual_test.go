package take

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
)

// Who waits is told that a hold is long for its name. The journal is asked once, and
// not about a hold that is not older than its ttl.
func TestUsual(t *testing.T) {
	asked := 0
	u := &connect.Usual{Ask: func(context.Context, string) (time.Duration, bool) {
		asked++
		return 10 * time.Second, true
	}}
	look := func(held time.Duration) string {
		state := &admin.State{Name: "job", Kind: holdfast.KindMutex, Holder: &admin.Holder{
			Owner: "ci-7", TTL: 15 * time.Second, Remaining: 12 * time.Second, Held: held,
		}}
		return waitText("job", state, false, u.Known(), 0)
	}
	if got, want := look(14*time.Second), "job is held by ci-7 for 14s, renews on time"; got != want || asked != 0 {
		t.Errorf("got %q, and asked %d times; want %q, and not asked", got, asked, want)
	}
	if got := look(20 * time.Second); !strings.HasSuffix(got, ", renews on time") {
		t.Errorf("got %q of twice the usual time", got)
	}
	if got, want := look(40*time.Second), "job is held by ci-7 for 40s, longer than usual"; got != want || asked != 1 {
		t.Errorf("got %q, and asked %d times; want %q, and once", got, asked, want)
	}
}
