//go:build interop

package interop_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// each runs a test with every foreign client, at the same time, a server each.
func each(t *testing.T, test func(t *testing.T, server *redistest.Server, c client, m *holdfast.Mutex)) {
	for _, c := range clients {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			test(t, server, c, open(t, server).Mutex(c.key))
		})
	}
}

// open makes a Client of holdfast whose keys are the names.
func open(t *testing.T, server *redistest.Server) *holdfast.Client {
	t.Helper()
	rc, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rc.Close)
	client := holdfast.New(rueidisstore.New(rc), &holdfast.Options{Prefix: holdfast.NoPrefix})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func ctx(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestExcludeEachOther(t *testing.T) {
	const acquisitions = 1000 // by each of the two
	each(t, func(t *testing.T, server *redistest.Server, c client, m *holdfast.Mutex) {
		f := c.start(t, server)
		f.must(t, "try 1000", "locked") // it is up and connected
		f.must(t, "unlock", "unlocked")
		counter, marker := filepath.Join(t.TempDir(), "counter"), filepath.Join(t.TempDir(), "marker")
		write(t, counter, "0 nobody")
		f.say(t, "count %d %s %s", acquisitions, counter, marker)
		switches, overlaps := count(t, m, acquisitions, counter, marker)
		var foreignSwitches, foreignOverlaps int
		answer := f.answer(t)
		if _, err := fmt.Sscanf(answer, "counted %d %d", &foreignSwitches, &foreignOverlaps); err != nil {
			t.Fatalf("%q: %v", answer, err)
		}
		if number, _ := read(t, counter); number != 2*acquisitions {
			t.Errorf("counter: got %d, want %d", number, 2*acquisitions)
		}
		if overlaps+foreignOverlaps != 0 {
			t.Errorf("overlaps: got %d seen by holdfast and %d by %s, want none", overlaps, foreignOverlaps, c.kind)
		}
		t.Logf("the lock went over to %s %d times, and back %d times", c.kind, foreignSwitches, switches)
		if switches < 5 || foreignSwitches < 5 {
			t.Error("the two hardly met: this run shows nothing")
		}
	})
}

// count is the command of the same name, see doc.go, done by holdfast.
func count(t *testing.T, m *holdfast.Mutex, n int, counter, marker string) (switches, overlaps int) {
	t.Helper()
	ctx := ctx(t)
	for range n {
		lease, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		made := makeMarker(t, marker)
		if !made {
			overlaps++
		}
		number, last := read(t, counter)
		if last != "holdfast" {
			switches++
		}
		time.Sleep(rand.N(time.Millisecond))
		write(t, counter, fmt.Sprintf("%d holdfast", number+1))
		if made {
			if err := os.Remove(marker); err != nil {
				t.Fatal(err)
			}
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(2 * time.Millisecond))
	}
	return switches, overlaps
}

func TestForeignClientWaitsForHoldfast(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, c client, m *holdfast.Mutex) {
		lease, err := m.Lock(ctx(t))
		if err != nil {
			t.Fatal(err)
		}
		f := c.start(t, server)
		f.must(t, "try 10000", "held")
		before := asked(t, server)
		f.say(t, "lock 10000")
		const looks = 5
		eventually(t, "the foreign client asks again and again", func() bool { return asked(t, server) >= before+looks })
		select {
		case answer := <-f.answers:
			t.Fatalf("while holdfast holds the name, the foreign client says %q", answer)
		default:
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		if got := f.answer(t); got != "locked" {
			t.Errorf("after holdfast's release: got %q, want locked", got)
		}
	})
}

// asked counts what a foreign client asks with, whichever it is. Holdfast sends
// none of it while it holds a lock, but for a renewal in five seconds.
func asked(t *testing.T, server *redistest.Server) int64 {
	t.Helper()
	stats, err := server.CommandStats()
	if err != nil {
		t.Fatal(err)
	}
	return stats["set"] + stats["eval"] + stats["evalsha"]
}

func TestHoldfastWaitsForForeignClient(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, c client, m *holdfast.Mutex) {
		f := c.start(t, server)
		f.must(t, "lock 60000", "locked")
		ctx := ctx(t)
		_, err := m.TryLock(ctx)
		var held *holdfast.HeldError
		if !errors.As(err, &held) || !held.Foreign {
			t.Fatalf("TryLock: got %v, want a HeldError that says foreign", err)
		}
		result := make(chan error, 1)
		go func() {
			lease, err := m.Lock(ctx)
			if err == nil {
				err = lease.Release()
			}
			result <- err
		}()
		queue := "holdfast/queue:{" + c.key + "}"
		eventually(t, "holdfast waits", func() bool { return server.MustDo(t, "ZCARD", queue) == "1" })
		select {
		case err := <-result:
			t.Fatalf("while the foreign client holds the name, Lock returned %v", err)
		default:
		}
		f.must(t, "unlock", "unlocked")
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

func TestForeignClientDeletesOnlyItsOwn(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, c client, m *holdfast.Mutex) {
		f := c.start(t, server)
		f.must(t, "lock 300", "locked") // and does not come back in time
		lease, err := m.Lock(ctx(t))
		if err != nil {
			t.Fatal(err)
		}
		id := server.MustDo(t, "GET", c.key)
		f.say(t, "unlock")
		f.answer(t) // not all of them say that it was not theirs any more
		if got := server.MustDo(t, "GET", c.key); got != id {
			t.Errorf("the key after a late unlock of the foreign client: got %q, want %q", got, id)
		}
		if err := lease.Err(); err != nil {
			t.Errorf("the lease: got %v, want it held", err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	})
}

func TestHoldfastDeletesOnlyItsOwn(t *testing.T) {
	each(t, func(t *testing.T, server *redistest.Server, c client, m *holdfast.Mutex) {
		lease, err := m.Lock(ctx(t))
		if err != nil {
			t.Fatal(err)
		}
		server.MustDo(t, "DEL", c.key) // somebody cleans up by hand
		f := c.start(t, server)
		f.must(t, "lock 60000", "locked")
		value := server.MustDo(t, "GET", c.key)
		if err := lease.Release(); err != nil && !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("Release: got %v, want nil or ErrLost", err)
		}
		if got := server.MustDo(t, "GET", c.key); got != value {
			t.Errorf("the key after a late release of holdfast: got %q, want %q", got, value)
		}
		f.must(t, "unlock", "unlocked")
	})
}

// eventually polls until ok, and fails the test when that takes too long.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func read(t *testing.T, counter string) (number int, last string) {
	t.Helper()
	text, err := os.ReadFile(counter)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(text), "%d %s", &number, &last); err != nil {
		t.Fatalf("counter %q: %v", text, err)
	}
	return number, last
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// makeMarker makes a file that must not be there, and says whether it did.
func makeMarker(t *testing.T, path string) bool {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return true
}
