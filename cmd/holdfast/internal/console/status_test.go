package console

import (
	"strings"
	"testing"
)

func TestStatusLineIsCut(t *testing.T) {
	var got strings.Builder
	NewLines(&got).Show(15, "äö待ü")
	if want := "\r\x1b[Kholdfast: äö待"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}
