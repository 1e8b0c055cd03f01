//go:build unix

package process_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A process is frozen while ten of its callers wait in front of another process. That one
// gets the name after one claim window, not after ten, whatever they wait for. The frozen
// ones come back to their places: before a process that came later.
func TestProcessFrozenWaiters(t *testing.T) {
	const n, ttl, window, each = 10, 15 * time.Second, 2 * time.Second, 50 * time.Millisecond
	kinds := map[string]func(p *process, name string, i int) call{
		"writers": func(p *process, name string, _ int) call { return p.wants(name, writing) },
		"permits": func(p *process, name string, _ int) call { return p.wants(name, part{Permits: 1, Size: 1}) },
		"owners": func(p *process, name string, i int) call {
			return p.order(order{Do: "lock", Name: name, Owner: fmt.Sprint(p.owner, i)})
		},
		"campaign": func(p *process, name string, _ int) call { return p.campaign(name) },
	}
	for kind, wait := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			processes := startProcesses(t, server, ttl, "A", "B", "C", "D")
			waiting := func(want int) {
				t.Helper()
				clienttest.Eventually(t, strconv.Itoa(want)+" wait", func() bool { return server.MustDo(t, "ZCARD", clienttest.QueueKey(kind)) == strconv.Itoa(want) })
			}
			first := wait(processes[0], kind, 0)
			first.held()
			var frozen []call
			for i := range n {
				frozen = append(frozen, wait(processes[1], kind, i))
				waiting(i + 1)
			}
			next := wait(processes[2], kind, 0)
			waiting(n + 1)
			processes[1].freeze()
			released := first.release()
			got := next.held()
			if took := time.Duration(got.At - released.At); took > 2*window+n*each {
				t.Errorf("the next process waited %v behind a frozen one, want a claim window of %v and %v for the %d waiters; twice that window on a busy machine", took, window, n*each, n)
			} else {
				t.Logf("%s: %v", kind, took)
			}

			last := wait(processes[3], kind, 0)
			processes[1].thaw()
			waiting(n + 1)
			next.release()
			defer func() {
				if t.Failed() {
					t.Logf("%s: the queue has %s; %s", kind, server.MustDo(t, "ZRANGE", clienttest.QueueKey(kind), 0, -1), holders(t, server, kind))
				}
			}()
			for i, c := range frozen {
				clienttest.Eventually(t, "the next turn", func() bool { return !c.pending() || !last.pending() })
				if !last.pending() {
					t.Fatalf("D, who came last, was before %d of those who had been frozen", n-i)
				}
				c.held()
				c.release()
			}
			last.held()
			last.release()
		})
	}
}

// holders says who has a name: a mutex has a string as its lock key, the shared kinds a hash and
// the ids of the holders beside it.
func holders(t *testing.T, server *redistest.Server, name string) string {
	t.Helper()
	if server.MustDo(t, "TYPE", clienttest.LockKey(name)) == "hash" {
		return fmt.Sprint("the lock key is ", server.MustDo(t, "HGETALL", clienttest.LockKey(name)),
			", and these hold: ", server.MustDo(t, "ZRANGE", clienttest.HoldersKey(name), 0, -1, "WITHSCORES"))
	}
	return "the lock key is " + server.MustDo(t, "GET", clienttest.LockKey(name))
}

// Readers overlap, and two writers wait in each of one process that is frozen, or of five.
// After a claim window for each of these the readers go on as they do beside none: all
// three are measured at the same time, so a busy machine slows down each of them.
func TestProcessFrozenWritersAndReaders(t *testing.T) {
	t.Parallel()
	const each, measured = 2, 4 * time.Second // twice the window that a silent head would cost again and again
	server := redistest.Start(t, redistest.Options{})
	processes := startProcesses(t, server, 15*time.Second, "long", "A", "B", "C", "D", "E")
	beside := []int{0, 1, 5}
	name := func(frozen int) string { return fmt.Sprint("readers-beside-", frozen) }
	for _, frozen := range beside {
		processes[0].wants(name(frozen), reading).held()
		for i, p := range processes[1 : 1+frozen] {
			for k := range each {
				p.wants(name(frozen), writing)
				want := strconv.Itoa(each*i + k + 1)
				clienttest.Eventually(t, want+" wait", func() bool { return server.MustDo(t, "ZCARD", clienttest.QueueKey(name(frozen))) == want })
			}
		}
	}
	for _, p := range processes[1:] {
		p.freeze()
	}

	client := clienttest.Open(t, server.URL(), holdfast.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reads := make([]int, len(beside))
	var passed, done sync.WaitGroup
	passed.Add(len(beside))
	for i, frozen := range beside {
		read := func() {
			lease, err := client.RWMutex(name(frozen)).RLock(ctx)
			if err == nil {
				err = lease.Release()
			}
			if err != nil {
				t.Errorf("beside %d frozen processes: %v", frozen, err)
			}
		}
		done.Go(func() {
			read()
			passed.Done()
			passed.Wait() // the windows of all
			for end := time.Now().Add(measured); time.Now().Before(end) && !t.Failed(); reads[i]++ {
				read()
			}
		})
	}
	done.Wait()
	t.Logf("reads in %v beside %v frozen processes: %v", measured, beside, reads)
	for i, frozen := range beside {
		if reads[i] < reads[0]*8/10 {
			t.Errorf("beside %d frozen processes after their windows: %d reads in %v, want at least 80 %% of %d", frozen, reads[i], measured, reads[0])
		}
	}
}
