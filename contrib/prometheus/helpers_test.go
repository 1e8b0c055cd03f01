package holdfastprom_test

import (
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
)

// stolen is the hash of who holds a name.
func stolen(t testing.TB, client *holdfast.Client, name string) string {
	t.Helper()
	state, err := admin.Of(client).Inspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return state.Holder.Hash
}
