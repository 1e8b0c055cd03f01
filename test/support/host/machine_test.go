package host_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/host"
)

// The words have what they promise.
func TestDescribe(t *testing.T) {
	got := host.WithServer()
	for _, want := range []string{fmt.Sprintf("%d cores", runtime.NumCPU()), runtime.GOOS + "/" + runtime.GOARCH, runtime.Version()} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if strings.Contains(got, "of another kind") {
		t.Errorf("got %q, want the server's name and version", got)
	}
	if !strings.HasPrefix(got, host.Describe()) {
		t.Errorf("got %q, want it to begin with %q", got, host.Describe())
	}
}
