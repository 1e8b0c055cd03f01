//go:build unix

package process_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// part is what a child locks of a name: permits of a semaphore, a reader's or a
// writer's part of an RWMutex, or by default a mutex.
type part struct {
	Permits, Size int
	Kind          string // "read", "write" or ""
}

var (
	reading = part{Kind: "read"}
	writing = part{Kind: "write"}
)

func (p part) lock(ctx context.Context, c *holdfast.Client, name string) (*holdfast.Lease, error) {
	switch {
	case p.Size > 0:
		return c.Semaphore(name, p.Size).Acquire(ctx, p.Permits)
	case p.Kind == "read":
		return c.RWMutex(name).RLock(ctx)
	case p.Kind == "write":
		return c.RWMutex(name).Lock(ctx)
	}
	return c.Mutex(name).Lock(ctx)
}

func (p *process) wants(name string, of part) call {
	p.t.Helper()
	return p.order(order{Do: "lock", Name: name, Part: of})
}

func keyH(name string) string { return "holdfast/holders:{" + clienttest.LockKey(name) + "}" }

// A process that holds permits is killed. They are free when its ttl ends, not
// before, and what the living hold is not touched.
func TestProcessPermitsOfTheKilled(t *testing.T) {
	t.Parallel()
	const name, ttl = "permits-killed", 3 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B", "C")
	dead := processes[0].wants(name, part{Permits: 3, Size: 4})
	dead.held()
	living := processes[1].wants(name, part{Permits: 1, Size: 4})
	living.held()
	next := processes[2].wants(name, part{Permits: 2, Size: 4})
	clienttest.InQueue(t, server, name, "C")
	renewed(t, dead)

	before := deadlinesOf([]call{dead})[0] // its own view ends before its time in Redis does
	processes[0].kill()
	killed := time.Now()
	got := next.held()
	if at := time.Unix(0, got.At); at.Before(before) {
		t.Errorf("granted %v before the deadline of the dead", before.Sub(at))
	} else if late := at.Sub(killed.Add(ttl)); late > clienttest.Slack {
		t.Errorf("granted %v after the ttl of the dead had ended", late)
	}
	if r := living.about("look"); r.Err != "" {
		t.Errorf("B: got %s, want its lease", r.Err)
	}
	next.release()
	living.release()
	server.MustDo(t, "DEL", "holdfast/size:{holdfast:"+name+"}") // Redis keeps the size for 30 days
	clienttest.NothingLeft(t, server, name)
}

// A writer that waits at the head is frozen. The reader behind it gets the name
// after a claim window; the writer gets its turn when it lives again.
func TestProcessFrozenWriterAtTheHead(t *testing.T) {
	const name = "writer-frozen"
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 20*time.Second, "A", "B", "C")
	first := processes[0].wants(name, reading)
	first.held()
	writer := processes[1].wants(name, writing)
	clienttest.InQueue(t, server, name, "B")
	processes[1].freeze()
	frozen := time.Now()
	reader := processes[2].wants(name, reading)
	got := reader.held()
	if late := time.Unix(0, got.At).Sub(frozen); late > 2*time.Second+clienttest.Slack {
		t.Errorf("the reader waited %v behind a frozen writer, want about a claim window", late)
	}
	processes[1].thaw()
	if !writer.pending() {
		t.Errorf("the writer: got %+v among readers, want no answer", writer.wait())
	}
	first.release()
	released := reader.release()
	last := writer.held()
	if last.At < released.At {
		t.Error("the writer had the name before the last reader released it")
	}
	rises(t, got, last)
	writer.release()
	clienttest.NothingLeftSoon(t, server, name)
}

// A reader is frozen for longer than its ttl. The writer goes on; when the reader
// wakes up its first look says that it has lost, and its release takes nothing.
func TestProcessReaderFrozen(t *testing.T) {
	t.Parallel()
	const name, ttl = "reader-frozen", 3 * time.Second
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, ttl, "A", "B")
	reader := processes[0].wants(name, reading)
	first := reader.held()
	writer := processes[1].wants(name, writing)
	clienttest.InQueue(t, server, name, "B")
	reader.about("watch")
	processes[0].freeze()
	second := writer.held()
	rises(t, first, second)
	processes[0].thaw()
	if end := reader.lost("watched"); !end.Woke || end.Look == "" {
		t.Errorf("the first look after waking up: got nil, want ErrLost (%+v)", end)
	}
	reader.lost("release")
	renewed(t, writer)
	if got := clienttest.OwnerOf(server.MustDo(t, "ZRANGE", keyH(name), 0, -1)); got != "B" {
		t.Errorf("after the late release: held by %q, want B", got)
	}
	writer.release()
	clienttest.NothingLeftSoon(t, server, name)
}
