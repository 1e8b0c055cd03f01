package doctor

import (
	"fmt"
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// Inspect shows during a Check who locks: the host and process, as with a Client.
func TestOwnerIsTheProcess(t *testing.T) {
	id, ok := keyspace.ParseID((&trial{d: newDoctor(nil, nil), client: "c"}).id())
	host, _ := os.Hostname()
	if want := keyspace.CleanOwner(fmt.Sprintf("%s:%d", host, os.Getpid())); !ok || id.Owner != want {
		t.Errorf("got %q, want %q", id.Owner, want)
	}
}
