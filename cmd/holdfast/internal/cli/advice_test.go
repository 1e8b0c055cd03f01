package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// A URL that follows a failover is not advised to be another one.
func TestAdviceForURL(t *testing.T) {
	readOnly := errors.Join(holdfast.ErrUnreachable, driver.ServerError("READONLY You can't write against a read only replica."))
	for url, want := range map[string]bool{
		"redis://h": true, "unix:///s": true, "sentinel://h/m": false, "sentinels://h/m": false, "clusters://h": false,
	} {
		text := (&App{RedisURL: url}).Explain(readOnly)
		if got := strings.Contains(text, "use the address of the master"); got != want || !strings.Contains(text, "READONLY") {
			t.Errorf("%s: got %q, want advice: %t", url, text, want)
		}
	}
}
