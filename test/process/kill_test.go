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

// The head of the queue is frozen, is granted the name all the same, and dies before
// it can claim it. The one behind it gets the name after one claim window.
func TestProcessKilledBeforeItClaims(t *testing.T) {
	const name, window = "killed-before-claim", 2 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 20*time.Second, "A", "B", "C")
	calls := contend(t, server, name, processes)
	held := calls[0].held()

	processes[1].freeze()
	calls[0].release()
	released := time.Now()
	unclaimed(t, server, name, "B", window)
	left := clienttest.PTTL(t, server, name)
	processes[1].kill()

	next := calls[2].held()
	got := time.Unix(0, next.At)
	if first := released.Add(left - time.Millisecond); left > 0 && got.Before(first) {
		t.Errorf("granted %v before the claim window had ended", first.Sub(got))
	}
	if last := released.Add(window + clienttest.Slack); got.After(last) {
		t.Errorf("granted %v after the release, want about %v", got.Sub(released), window)
	}
	rises(t, held, next)
	calls[2].release()
	clienttest.NothingLeftSoon(t, server, name)
}

// unclaimed makes sure that the name was pushed to a process that has not
// claimed it, or was until just now.
func unclaimed(t *testing.T, server *redistest.Server, name, owner string, window time.Duration) {
	t.Helper()
	if got := clienttest.Holder(t, server, name); got != owner && got != "" {
		t.Errorf("after the release: got the name with %q, want %s", got, owner)
	}
	if left := clienttest.PTTL(t, server, name); left > window {
		t.Errorf("the frozen process has the name for %v, want its claim window of %v at most", left, window)
	}
}

// The head of the queue is frozen over the whole of its claim window. When it wakes
// up, what was pushed to it is over: it does not believe it, waits in the queue once
// more, and gets its turn.
func TestProcessFrozenBeforeItClaims(t *testing.T) {
	const name, window = "frozen-before-claim", 2 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 20*time.Second, "A", "B", "C")
	calls := contend(t, server, name, processes)

	processes[1].freeze()
	calls[0].release()
	unclaimed(t, server, name, "B", window)
	second := calls[2].held()

	processes[1].thaw()
	clienttest.InQueue(t, server, name, "B")
	if !calls[1].pending() {
		t.Errorf("B: got %+v while C had the name, want no answer", calls[1].wait())
	}
	released := calls[2].release()
	third := calls[1].held()
	if third.At < released.At {
		t.Errorf("B had the name %v before C released it", time.Duration(released.At-third.At))
	}
	rises(t, second, third)
	calls[1].release()
	clienttest.NothingLeftSoon(t, server, name)
}
