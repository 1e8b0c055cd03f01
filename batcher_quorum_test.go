package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// quorumOf makes a Client of three nodes.
func quorumOf(t *testing.T, options holdfast.QuorumOptions, nodes ...driver.Store) *holdfast.QuorumClient {
	options.Logger = slog.New(slog.DiscardHandler)
	client := holdfast.NewQuorum("orders/1/3-5f3a9c0d1e", &options, nodes...)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func farNodes() (nodes []*distant, stores []driver.Store) {
	for i := range 3 {
		nodes = append(nodes, &distant{began: time.Now(), run: fmt.Sprint("a", i)})
		stores = append(stores, nodes[i])
	}
	return nodes, stores
}

// On a quorum requests wait for others to the same node: sixteen travel to each alone and
// at once, those that come then in pipelines.
func TestQuorumRequestsAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, stores := farNodes()
		manyCalls(t, quorumOf(t, holdfast.QuorumOptions{}, stores...), 100)
		for i, node := range nodes {
			if alone, pipelines := node.until(0); alone != 16 || len(pipelines) != 0 {
				t.Errorf("to node %d left %d alone at once and pipelines of %v, want 16 and none", i+1, alone, pipelines)
			}
			if alone, pipelines := node.until(2 * time.Millisecond); alone != 16 || !slices.Equal(pipelines, []int{20, 64}) {
				t.Errorf("to node %d left within 2 ms %d alone and pipelines of %v, want 16 and 20, 64", i+1, alone, pipelines)
			}
		}
	})
}

// Those that wait for a node leave as soon as something of it is back; with them leaves
// what the answers of the others have brought on at that moment.
func TestQuorumDelayedLeaveWithAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, stores := farNodes()
		client := quorumOf(t, holdfast.QuorumOptions{}, stores...)
		var more sync.WaitGroup
		more.Go(func() { manyCalls(t, client, 16) })
		time.Sleep(away - time.Millisecond/2)
		for i := range 30 {
			more.Go(func() { _, _ = client.Mutex(fmt.Sprint("more:", i)).Lock(context.Background()) })
		}
		more.Wait()
		for i, node := range nodes {
			if _, pipelines := node.until(away); len(pipelines) == 0 || slices.Max(pipelines) < 30 {
				t.Errorf("to node %d left pipelines of %v with the first answer, want one of 30 or more among them", i+1, pipelines)
			}
		}
	})
}

// Renewals on a quorum have no pipelines of their own, so they wait for others, too.
func TestQuorumRenewalsAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, stores := farNodes()
		client := quorumOf(t, holdfast.QuorumOptions{TTL: 9 * time.Second}, stores...)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				if _, err := client.Mutex(fmt.Sprint("name:", i)).Lock(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		time.Sleep(6 * time.Second)
		together := 0
		nodes[0].mu.Lock()
		defer nodes[0].mu.Unlock()
		for _, c := range nodes[0].sent {
			if c.method == "EvalAll" && slices.Contains(c.kinds, "quorum_renew") {
				together += c.scripts
			}
		}
		if together == 0 {
			t.Error("no renewals travelled together")
		}
	})
}

// busy is a node on which another has each name. It notes when it was asked, and whether the
// caller comes back.
type busy struct {
	*distant
	asked []time.Duration
	waits []bool
}

func (s *busy) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	if call.Script.Name != "quorum_lock" {
		return s.distant.Eval(ctx, call)
	}
	s.mu.Lock()
	s.asked, s.waits = append(s.asked, time.Since(s.began)), append(s.waits, call.Args[3] != "0")
	s.mu.Unlock()
	time.Sleep(away)
	return []string{"held", "x.1.5000|b:3527400000000000", "5000", "0", "1763700000000000", "", s.run}, nil
}

// A Lock that comes while the poll of a TryLock is on its way has no mark on the nodes. So it
// polls as soon as that is answered, once, and then with pauses.
func TestQuorumLockBehindATryIsMarkedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, stores := farNodes()
		first := &busy{distant: nodes[0]}
		stores[0], stores[1], stores[2] = first, &busy{distant: nodes[1]}, &busy{distant: nodes[2]}
		client := quorumOf(t, holdfast.QuorumOptions{}, stores...)
		ctx, cancel := context.WithTimeout(t.Context(), 10*away)
		defer cancel()
		var try sync.WaitGroup
		try.Go(func() {
			if _, err := client.Mutex("name").TryLock(ctx); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("TryLock: %v, want ErrHeld", err)
			}
		})
		time.Sleep(away / 2)
		if _, err := client.Mutex("name").Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock: %v, want that it waits", err)
		}
		try.Wait()
		first.mu.Lock()
		defer first.mu.Unlock()
		if len(first.asked) < 3 || first.waits[0] || !first.waits[1] || first.asked[1] != away || first.asked[2] < 2*away+25*time.Millisecond {
			t.Errorf("polled at %v, with a mark: %v", first.asked, first.waits)
		}
	})
}

// deaf is a node that never answers, and notes how many calls hang in it.
type deaf struct {
	hanging
	now, most atomic.Int64
}

func (s *deaf) hang(ctx context.Context) error {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *deaf) Eval(ctx context.Context, _ driver.Call) ([]string, error) {
	return nil, s.hang(ctx)
}

func (s *deaf) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	return slices.Repeat([]driver.Result{{Err: s.hang(ctx)}}, len(calls))
}

// A node that hangs costs those who lock nothing, and however many they are, no more
// calls hang in it than may.
func TestQuorumDelaysNothingForANodeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, stores := farNodes()
		silent := &deaf{}
		stores[2] = silent
		client := quorumOf(t, holdfast.QuorumOptions{}, stores...)
		if _, err := client.Mutex("first").Lock(context.Background()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 20 {
			manyCalls(t, client, 500)
		}
		if took := time.Since(began); took > 20*(4*away) {
			t.Errorf("20 rounds of lock and release took %v, with a way of %v to nodes that answer", took, away)
		}
		if most := silent.most.Load(); most < 16 || most > 64+16 {
			t.Errorf("%d calls hung in a node that does not answer, want 64 or a few more", most)
		}
	})
}

// What waits when Close begins is never sent: it would come after what undoes it.
func TestCloseDropsWhatIsDelayed(t *testing.T) {
	for _, quorum := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			nodes, stores := farNodes()
			var client mutexes
			if quorum {
				client = quorumOf(t, holdfast.QuorumOptions{}, stores...)
			} else {
				client, nodes = nodes[0].client(t, holdfast.Options{}), nodes[:1]
			}
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() { _, _ = client.Mutex(fmt.Sprint("name:", i)).Lock(context.Background()) })
			}
			time.Sleep(time.Millisecond / 2)
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			all.Wait()
			time.Sleep(time.Second)
			for i, node := range nodes {
				node.mu.Lock()
				for _, c := range node.sent {
					if c.after > 0 && (slices.Contains(c.kinds, "quorum_lock") || slices.Contains(c.kinds, "lock")) {
						t.Errorf("node %d of %d was asked for a name %v after the beginning, when the Client was closed", i+1, len(nodes), c.after)
					}
				}
				node.mu.Unlock()
			}
		})
	}
}

// However many requests come at once after a time without any, the nodes are not taken
// for silent before they could answer.
func TestQuorumBurstIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, stores := farNodes()
		client := quorumOf(t, holdfast.QuorumOptions{TTL: 30 * time.Second}, stores...)
		const n = 5000
		var failed atomic.Int64
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				lease, err := client.Mutex(fmt.Sprint("name:", i)).Lock(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second)
				if lease.EnsureHeld(context.Background()) != nil {
					failed.Add(1)
				}
				_ = lease.Release()
			})
		}
		all.Wait()
		if failed.Load() > 0 {
			t.Errorf("EnsureHeld failed for %d of %d leases at once", failed.Load(), n)
		}
	})
}
