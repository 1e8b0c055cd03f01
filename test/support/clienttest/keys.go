package clienttest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// LockKey is the key of the lock of a name. All keys: docs/protocol.md.
func LockKey(name string) string { return "holdfast:" + name }

// FenceKey is the key of the newest token of a name.
func FenceKey(name string) string { return "holdfast/fence:{" + LockKey(name) + "}" }

// HoldersKey is the key of those that hold a name of a shared kind.
func HoldersKey(name string) string { return "holdfast/holders:{" + LockKey(name) + "}" }

// QueueKey is the key of the queue of a name.
func QueueKey(name string) string { return "holdfast/queue:{" + LockKey(name) + "}" }

// OwnerOf is the label in an id.
func OwnerOf(id string) string {
	_, owner, _ := strings.Cut(id, "|")
	return owner
}

// Holder is the owner of the lock key, empty when it is not there.
func Holder(t *testing.T, server *redistest.Server, name string) string {
	t.Helper()
	return OwnerOf(server.MustDo(t, "GET", LockKey(name)))
}

// PTTL is what is left of the life of the lock key.
func PTTL(t *testing.T, server *redistest.Server, name string) time.Duration {
	t.Helper()
	ms, err := strconv.Atoi(server.MustDo(t, "PTTL", LockKey(name)))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ms) * time.Millisecond
}

// InQueue waits until exactly these owners stand in the queue, in this order.
func InQueue(t testing.TB, server *redistest.Server, name string, want ...string) {
	t.Helper()
	inQueue(t, func() string { return server.MustDo(t, "ZRANGE", QueueKey(name), 0, -1) }, want)
}

func inQueue(t testing.TB, queue func() string, want []string) {
	t.Helper()
	Eventually(t, strings.Join(want, ", ")+" wait in the queue", func() bool {
		var got []string
		for id := range strings.Lines(queue()) {
			got = append(got, OwnerOf(strings.TrimSpace(id)))
		}
		return slices.Equal(got, want)
	})
}

// NothingLeft makes sure that only the fences of the names are left.
func NothingLeft(t *testing.T, server *redistest.Server, names ...string) {
	t.Helper()
	if got, want := left(t, server, names); !slices.Equal(got, want) {
		t.Errorf("keys left behind: got %q, want %q", got, want)
	}
}

// NothingLeftSoon does so where clean-up may still go on in the background.
func NothingLeftSoon(t *testing.T, server *redistest.Server, names ...string) {
	t.Helper()
	Eventually(t, "nothing is left but fences", func() bool {
		got, want := left(t, server, names)
		return slices.Equal(got, want)
	})
}

func left(t *testing.T, server *redistest.Server, names []string) (got, want []string) {
	t.Helper()
	for _, name := range names {
		want = append(want, FenceKey(name))
	}
	slices.Sort(want)
	got = strings.Fields(server.MustDo(t, "KEYS", "*"))
	slices.Sort(got)
	return got, want
}
