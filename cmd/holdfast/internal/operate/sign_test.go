//go:build unix

package operate

import (
	"strings"
	"testing"
)

// Who gives an order is user and host where no label says otherwise, and is left out
// where there is no room.
func TestSigned(t *testing.T) {
	long := strings.Repeat("x", 195)
	for _, test := range []struct{ reason, owner, want string }{
		{" why ", "ann", "why (by ann)"},
		{long, "ann", long},
		{long[:191], "ann", long[:191] + " (by ann)"},
	} {
		if got := (Options{Reason: test.reason}).Signed(test.owner); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	if got := (Options{Reason: "why"}).Signed(""); !strings.HasPrefix(got, "why (by ") || !strings.Contains(got, "@") {
		t.Errorf("got %q, want user@host", got)
	}
}
