//go:build unix

package process_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// The holder dies. The next waiter gets the name when the ttl ends: not before,
// or it would have got it from a living one too.
func TestProcessHolderKilled(t *testing.T) {
	t.Parallel()
	const name, ttl = "holder-killed", 3 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B", "C")
	calls := contend(t, server, name, processes)
	dead := calls[0].held()
	renewed(t, calls[0]) // or it would be the first ttl, and not the confirmed one

	from := time.Now()
	left := clienttest.PTTL(t, server, name)
	processes[0].kill()
	to := time.Now()

	next := calls[1].held()
	got := time.Unix(0, next.At)
	if first := from.Add(left - time.Millisecond); got.Before(first) {
		t.Errorf("granted %v before the ttl of the dead holder had ended", first.Sub(got))
	}
	if last := to.Add(ttl + clienttest.Slack); got.After(last) {
		t.Errorf("granted %v after the holder was killed, ttl %v", got.Sub(to), ttl)
	}
	rises(t, dead, next)
	calls[1].release()
	rises(t, next, calls[2].held())
	calls[2].release()
	clienttest.NothingLeft(t, server, name)
}

func rises(t *testing.T, before, after reply) {
	t.Helper()
	if after.Token <= before.Token {
		t.Errorf("token: got %d after %d, want a greater one", after.Token, before.Token)
	}
}

// The head of the queue dies. It costs those behind it nothing: the release itself
// makes the next one the holder.
func TestProcessWaiterKilled(t *testing.T) {
	const name = "waiter-killed"
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 20*time.Second, "A", "B", "C", "D")
	calls := contend(t, server, name, processes)
	held := calls[0].held()

	processes[1].kill()
	listening(t, server, name, "C", "D")
	calls[0].release()
	if got := clienttest.Holder(t, server, name); got != "C" {
		t.Errorf("after the release: got the name with %q, want C", got)
	}
	rises(t, held, calls[2].held())
	calls[2].release()
	calls[3].held()
	calls[3].release()
	clienttest.NothingLeft(t, server, name)
}

// listening waits until the server knows that of those in the queue these listen, and
// no others.
func listening(t *testing.T, server *redistest.Server, name string, want ...string) {
	t.Helper()
	clienttest.Eventually(t, "the server knows who listens", func() bool {
		channels := strings.Fields(server.MustDo(t, "PUBSUB", "CHANNELS", "holdfast/push:*"))
		var got []string
		for id := range strings.Lines(server.MustDo(t, "ZRANGE", clienttest.QueueKey(name), 0, -1)) {
			if client, _, _ := strings.Cut(id, "."); slices.Contains(channels, "holdfast/push:"+client) {
				got = append(got, clienttest.OwnerOf(strings.TrimSpace(id)))
			}
		}
		return slices.Equal(got, want)
	})
}

// holderListens waits until the server knows that the holder listens, which it does a
// second after it got the name, or earlier if its process waited.
func holderListens(t *testing.T, server *redistest.Server, name string) {
	t.Helper()
	client, _, _ := strings.Cut(server.MustDo(t, "GET", clienttest.LockKey(name)), ".")
	clienttest.Eventually(t, "the holder listens", func() bool {
		return server.MustDo(t, "PUBSUB", "CHANNELS", "holdfast/push:"+client) != ""
	})
}
