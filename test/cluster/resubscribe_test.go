//go:build unix

package cluster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// prompt is in which time a lost subscription is noticed and made again, at least
// one time in three: the machine may be busy.
const prompt = 50 * time.Millisecond

// A waiter whose connection is cut listens again within 50 ms, and then asks for
// what it may have missed.
func TestResubscribesSoon(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		w := wait(t, d, server.URL(), "resubscribed")
		w.measure(t, func(int) { server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub") })
	})
}

// A waiter whose slot moves to another server listens there within 50 ms.
func TestResubscribesSoonAfterAMove(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		name := "resubscribed-" + d.Name
		w := wait(t, d, nodes.URL(), name)
		w.measure(t, func(int) { nodes.MoveSlot(t, name, false, 0) })
	})
}

// waiter is a Client that waits for a name which another holds.
type waiter struct {
	events chan event
}

type event struct {
	at time.Time
	holdfast.Event
}

func wait(t *testing.T, d clienttest.Library, url, name string) waiter {
	t.Helper()
	clienttest.Take(t, clienttest.HoldfastOn(t, d, url, "holder"), name)
	w := waiter{make(chan event, 1000)}
	client := holdfast.New(d.Open(t, url, clienttest.Way{}), &holdfast.Options{
		Owner: "waiter", OnEvent: func(e holdfast.Event) { w.events <- event{time.Now(), e} },
	})
	t.Cleanup(func() { _ = client.Close() })
	clienttest.Asking(t.Context(), client.Mutex(name))
	w.next(t, "listens", func(e holdfast.Event) bool { _, ok := e.(holdfast.SubscriptionConfirmed); return ok })
	w.next(t, "waits in the queue", func(e holdfast.Event) bool { _, ok := e.(holdfast.Queued); return ok })
	return w
}

func (w waiter) next(t *testing.T, what string, is func(holdfast.Event) bool) time.Time {
	t.Helper()
	for end := time.After(clienttest.Patience); ; {
		select {
		case e := <-w.events:
			if is(e.Event) {
				return e.at
			}
		case <-end:
			t.Fatalf("not in time: %s", what)
		}
	}
}

// measure breaks the subscription again and again.
func (w waiter) measure(t *testing.T, lose func(n int)) {
	t.Helper()
	var noticed, heard []time.Duration
	for n := range 15 {
		before := time.Now()
		lose(n)
		lost := time.Now()
		gone := w.next(t, "the loss is noticed", func(e holdfast.Event) bool { _, ok := e.(holdfast.SubscriptionBroken); return ok })
		again := w.next(t, "it listens again", func(e holdfast.Event) bool { _, ok := e.(holdfast.SubscriptionConfirmed); return ok })
		w.next(t, "it asks again", func(e holdfast.Event) bool { _, ok := e.(holdfast.Queued); return ok })
		if gone.Before(before) {
			t.Fatalf("the loss was noticed %v before it", before.Sub(gone))
		}
		noticed, heard = append(noticed, gone.Sub(lost)), append(heard, again.Sub(lost))
	}
	slices.Sort(noticed)
	slices.Sort(heard)
	text := func(d []time.Duration) string {
		return fmt.Sprintf("%v, at the latest %v", d[len(d)/2].Round(10*time.Microsecond), d[len(d)-1].Round(10*time.Microsecond))
	}
	t.Logf("noticed after %s; listened again after %s", text(noticed), text(heard))
	if got := heard[len(heard)/3]; got > prompt {
		t.Errorf("it listened again after %v or more, want at most %v", got, prompt)
	}
}
