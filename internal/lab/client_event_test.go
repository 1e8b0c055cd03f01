//go:build unix

package lab_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// kinds are the events without those that come when they like: renewals, and
// looks at the line after the first.
func kinds(j *journal) (kinds []string) {
	for _, e := range j.all() {
		k := ""
		switch e.(type) {
		case holdfast.Queued:
			k = "queued"
		case holdfast.Granted:
			k = "granted"
		case holdfast.Released:
			k = "released"
		case holdfast.Lost:
			k = "lost"
		case holdfast.Recalled:
			k = "recalled"
		case holdfast.SubscriptionConfirmed:
			k = "listening"
		case holdfast.SubscriptionBroken:
			k = "deaf"
		}
		if k != "" && (k != "queued" || len(kinds) == 0 || kinds[len(kinds)-1] != k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func happened(t *testing.T, who string, j *journal, want ...string) {
	t.Helper()
	eventually(t, who+" tells all", func() bool { return len(kinds(j)) >= len(want) })
	got := kinds(j)
	for i, k := range want {
		if got[i] != k {
			t.Errorf("%s: got %v, want %v", who, got, want)
			return
		}
	}
	if len(got) > len(want) {
		t.Errorf("%s: got %v, want %v", who, got, want)
	}
}

// Two clients and one name: each tells its side, in order, with the figures.
func TestEventsOfAHandOver(t *testing.T) {
	const name, held = "told", 100 * time.Millisecond
	server := redistest.Start(t, redistest.Options{})
	ja, jb := &journal{}, &journal{}
	a := open(t, server.URL(), holdfast.Options{Owner: "A", TTL: long, OnEvent: ja.note})
	b := open(t, server.URL(), holdfast.Options{Owner: "B", TTL: long, OnEvent: jb.note})
	first := take(t, a, name)
	began := time.Now()
	second := asking(t.Context(), a.Mutex(name))
	happened(t, "A", ja, "granted", "listening")
	waiting := asking(t.Context(), b.Mutex(name))
	happened(t, "A", ja, "granted", "listening", "recalled")
	happened(t, "B", jb, "listening", "queued")
	for time.Since(began) < held {
		time.Sleep(time.Millisecond)
	}
	giveBack(t, first)
	turn := second.lease(t) // stood in line before the recall
	giveBack(t, turn)
	lease := waiting.lease(t)
	giveBack(t, lease)
	happened(t, "A", ja, "granted", "listening", "recalled", "released", "granted", "released")
	happened(t, "B", jb, "listening", "queued", "granted", "released")

	queued := told[holdfast.Queued](jb)[0]
	if queued.Name != name || queued.Position != 0 || queued.Holder != "A" || queued.Remaining <= 0 || queued.Remaining > long {
		t.Errorf("queued: got %+v, want the head behind A", queued)
	}
	for j, leases := range map[*journal][]*holdfast.Lease{ja: {first, turn}, jb: {lease}} {
		for i, l := range leases {
			if got := told[holdfast.Granted](j)[i]; got.Name != name || got.Token != l.Token() {
				t.Errorf("granted: got %+v, want token %d", got, l.Token())
			}
			if got := told[holdfast.Released](j)[i]; got.Name != name || got.Token != l.Token() {
				t.Errorf("released: got %+v, want token %d", got, l.Token())
			}
		}
	}
	if got := told[holdfast.Released](ja)[0].Held; got < held-10*time.Millisecond {
		t.Errorf("held: got %v, want %v at least", got, held)
	}
	if got := told[holdfast.Granted](jb)[0].Waited; got <= 0 || got > time.Since(began) {
		t.Errorf("waited: got %v", got)
	}
	if got := told[holdfast.Recalled](ja)[0].Name; got != name {
		t.Errorf("recalled: got %q, want %q", got, name)
	}
}

// Renewals are told, and so is what ends a lease: the key deleted, the key taken
// by another, no server, and one that does not answer.
func TestEventsOfLoss(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	server := redistest.Start(t, redistest.Options{})
	j := &journal{}
	client := open(t, server.URL(), holdfast.Options{Owner: "A", TTL: ttl, OnEvent: j.note})
	lose := func(name string, cause holdfast.Cause, harm func()) {
		t.Helper()
		lease := take(t, client, name)
		renewed := more[holdfast.Renewed](t, j, 2)
		if got := renewed[len(renewed)-1]; got.Name != name || got.Remaining <= 0 || got.Remaining > ttl {
			t.Errorf("renewed: got %+v", got)
		}
		harm()
		closed(t, "the lease of "+name+" is over", lease.Done())
		lostBy(t, lease.Err(), cause)
		eventually(t, "it is told", func() bool { return len(told[holdfast.Lost](j)) > 0 })
		lost := told[holdfast.Lost](j)
		got := lost[len(lost)-1]
		if got.Held <= 0 || time.Since(got.At) < 0 || time.Since(got.At) > patience {
			t.Errorf("lost: got %+v, want how long it was held, and when it ended", got)
		}
		got.Held, got.At = 0, time.Time{}
		if want := (holdfast.Lost{Name: name, Token: lease.Token(), Cause: cause, Kind: holdfast.KindMutex}); got != want {
			t.Errorf("lost: got %+v, want %+v", got, want)
		}
		lostBy(t, lease.Release(), cause)
		j.mu.Lock()
		j.events = nil
		j.mu.Unlock()
	}
	lose("deleted", holdfast.Gone, func() { server.MustDo(t, "DEL", keyL("deleted")) })
	lose("taken", holdfast.Taken, func() { server.MustDo(t, "SET", keyL("taken"), "another") })
	fails := func(name string) {
		t.Helper()
		eventually(t, "a renewal fails", func() bool { return len(told[holdfast.RenewFailed](j)) > 0 })
		failed := told[holdfast.RenewFailed](j)[0]
		if failed.Name != name || failed.Err == nil || failed.Remaining > ttl {
			t.Errorf("failed: got %+v", failed)
		}
	}
	lose("absent", holdfast.Expired, func() {
		server.Kill()
		fails("absent")
	})
	if err := server.Restart(true); err != nil {
		t.Fatal(err)
	}
	lose("silent", holdfast.Expired, func() {
		if err := server.Freeze(); err != nil {
			t.Fatal(err)
		}
		fails("silent")
	})
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
}

// A subscription that breaks and comes back is told.
func TestEventsOfWake(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	j := &journal{}
	client := open(t, server.URL(), holdfast.Options{Owner: "A", TTL: long, OnEvent: j.note})
	server.MustDo(t, "SET", keyL("n"), "x")
	waiting := asking(t.Context(), client.Mutex("n"))
	happened(t, "A", j, "listening", "queued")
	server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub")
	eventually(t, "it is told", func() bool { return len(told[holdfast.SubscriptionConfirmed](j)) >= 2 })
	if broken := told[holdfast.SubscriptionBroken](j); len(broken) != 1 || broken[0].Err == nil {
		t.Errorf("got %+v, want one break with an error", broken)
	}
	server.MustDo(t, "DEL", keyL("n"))
	giveBack(t, waiting.lease(t))
}

// A hook that blocks holds up no lock, is called by one goroutine only, and
// learns how much it missed.
func TestEventsDropped(t *testing.T) {
	const turns = 1500 // two events each; 1,024 are kept
	server := redistest.Start(t, redistest.Options{})
	j, block := &journal{}, make(chan struct{})
	var inside atomic.Int32
	client := open(t, server.URL(), holdfast.Options{TTL: long, OnEvent: func(e holdfast.Event) {
		if inside.Add(1) > 1 {
			t.Error("two calls at a time")
		}
		<-block
		j.note(e)
		inside.Add(-1)
	}})
	for range turns {
		giveBack(t, take(t, client, "n"))
	}
	if got := len(j.all()); got != 0 {
		t.Fatalf("the hook took %d events while it was blocked", got)
	}
	close(block)
	eventually(t, "what was kept is told", func() bool { return len(j.all()) >= 1024 })
	last := take(t, client, "n") // with which the loss is told
	eventually(t, "the last turn is told", func() bool {
		granted := told[holdfast.Granted](j)
		return granted[len(granted)-1].Token == last.Token()
	})
	dropped := told[holdfast.Dropped](j)
	if len(dropped) != 1 {
		t.Fatalf("got %+v, want one word about what was dropped", dropped)
	}
	kept := len(told[holdfast.Granted](j)) + len(told[holdfast.Released](j)) - 1
	if got, want := dropped[0].N, 2*turns-kept; got != want {
		t.Errorf("dropped: got %d, want %d", got, want)
	}
	giveBack(t, last)
}
