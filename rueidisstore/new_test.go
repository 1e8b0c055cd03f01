package rueidisstore_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/rueidisstore"
)

// What only servers can show is tested in test.

// A missing client is a mistake in the program.
func TestNewNeedsAClient(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New(nil) did not panic")
		}
	}()
	rueidisstore.New(nil)
}
