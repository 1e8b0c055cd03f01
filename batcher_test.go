package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
)

const away = 100 * time.Millisecond // from sending to the answer

// distant grants and releases whatever it is asked, so much later, and notes what was
// sent and when.
type distant struct {
	began   time.Time
	sharded bool
	batch   func(driver.Call) driver.Result // what it answers to a batch; nil: everybody gets what he asks for
	run     string                          // of a quorum's node

	mu   sync.Mutex
	sent []sent
}

// sent is a call of the store: so many scripts, so long after the beginning.
type sent struct {
	scripts  int // a batch is as many as it does the work of
	renewals int // of these
	batches  int // of these calls
	kinds    []string
	ids      []string // of the requests that are in no batch
	after    time.Duration
	method   string
}

func (s *distant) Seam() clock.Seam {
	return clock.Seam{Now: func() time.Duration { return time.Since(s.began) }} // the bubble's time
}

func (s *distant) note(method string, calls []driver.Call) []driver.Result {
	noted := sent{after: time.Since(s.began), method: method}
	for _, call := range calls {
		noted.kinds = append(noted.kinds, call.Script.Name)
		switch call.Script.Name {
		case "renew":
			noted.renewals++
		case "lock_batch":
			noted.batches++
			noted.scripts += len(call.Keys)/3 - 1
		}
		if noted.scripts++; call.Script.Name != "lock_batch" && len(call.Args) > 0 {
			noted.ids = append(noted.ids, call.Args[0])
		}
	}
	s.mu.Lock()
	s.sent = append(s.sent, noted)
	s.mu.Unlock()
	time.Sleep(away)
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		switch call.Script.Name {
		case "lock":
			results[i].Reply = []string{"granted 3527400000000063 64 0 1763700000 0"}
		case "multi_lock":
			for range len(call.Keys) / 3 {
				results[i].Reply = append(results[i].Reply, "granted 3527400000000063 64 0 1763700000 0")
			}
		case "lock_batch":
			if results[i] = served(call); s.batch != nil {
				results[i] = s.batch(call)
			}
		case "renew":
			results[i].Reply = []string{"renewed 3527400000000127 64 0 1763700000 0"}
		case "unlock":
			results[i].Reply = []string{"released"}
		case "cancel":
			results[i].Reply = []string{"cancelled", "1763700000000000", ""}
		case "quorum_lock":
			results[i].Reply = []string{"granted", "3527400000000000", "64", "1763700000000000", s.run}
		case "quorum_unlock":
			results[i].Reply = []string{"released", "", s.run}
		case "quorum_renew":
			results[i].Reply = []string{"renewed", "1763700000000000", s.run}
		case "replicas":
			results[i].Reply = []string{"1"}
		default:
			results[i].Err = errors.New("not known here: " + call.Script.Name)
		}
	}
	return results
}

// served is a batch in which everybody gets what he asks for.
func served(call driver.Call) (all driver.Result) {
	for i := 1; i < len(call.Args); i += 2 {
		word := "released"
		if call.Args[i] != "" {
			word = "granted 3527400000000063 64 0 1763700000 0"
		}
		all.Reply = append(all.Reply, word)
	}
	return all
}

func (s *distant) Eval(_ context.Context, call driver.Call) ([]string, error) {
	result := s.note("Eval", []driver.Call{call})[0]
	return result.Reply, result.Err
}

func (s *distant) EvalAll(_ context.Context, calls []driver.Call) []driver.Result {
	return s.note("EvalAll", calls)
}

func (s *distant) EvalWait(_ context.Context, calls []driver.Call, replicas int, _ time.Duration) ([]driver.Result, int, error) {
	return s.note("EvalWait", calls), replicas, nil
}

func (s *distant) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, errors.New("no subscriptions")
}

func (s *distant) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (s *distant) Sharded() bool                                         { return s.sharded }

// until is what was sent so far, in sizes: those of calls with one script, and of
// pipelines.
func (s *distant) until(d time.Duration) (alone int, pipelines []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sent {
		switch {
		case c.after > d:
		case c.method == "Eval":
			alone++
		default:
			pipelines = append(pipelines, c.scripts)
		}
	}
	slices.Sort(pipelines) // they leave together
	return alone, pipelines
}

// mutexes is a client of one master or of a quorum.
type mutexes interface {
	Mutex(name string) *holdfast.Mutex
	Close() error
}

// manyCalls lets so many callers lock a name each, all at once, and release it.
func manyCalls(t *testing.T, client mutexes, n int) { manyCallsOver(t, client, n, 0) }

// manyCallsOver is a batch of which one begins after the other, over so long.
func manyCallsOver(t *testing.T, client mutexes, n int, span time.Duration) {
	var all sync.WaitGroup
	for i := range n {
		ctx := context.Background()
		if i%2 == 0 { // of callers that may end the wait another goroutine asks
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
		}
		all.Go(func() {
			time.Sleep(span * time.Duration(i) / time.Duration(n))
			lease, err := client.Mutex(fmt.Sprint("name:", i)).Lock(ctx)
			if err == nil {
				err = lease.Release()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func far(t *testing.T, options holdfast.Options) (*distant, *holdfast.Client) {
	store := &distant{began: time.Now()}
	return store, store.client(t, options)
}

func (s *distant) client(t *testing.T, options holdfast.Options) *holdfast.Client {
	options.Logger = slog.New(slog.DiscardHandler)
	client := holdfast.New(s, &options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Sixteen requests travel alone and at once. Those that come then leave a millisecond
// later at the latest, though nothing has come back, in pipelines of 64.
func TestRequestsAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		manyCalls(t, client, 100)
		if alone, pipelines := store.until(0); alone != 16 || len(pipelines) != 0 {
			t.Errorf("at once left %d alone and pipelines of %v, want 16 and none", alone, pipelines)
		}
		if alone, pipelines := store.until(2 * time.Millisecond); alone != 16 || !slices.Equal(pipelines, []int{20, 64}) {
			t.Errorf("within 2 ms left %d alone and pipelines of %v, want 16 and 20, 64", alone, pipelines)
		}
	})
}

// Those that wait leave as soon as something is back: here the first answers, half a
// millisecond after they had begun to wait.
func TestDelayedLeaveWithAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		var more sync.WaitGroup
		more.Go(func() { manyCalls(t, client, 16) })
		time.Sleep(away - time.Millisecond/2)
		for i := range 30 {
			more.Go(func() { _, _ = client.Mutex(fmt.Sprint("more:", i)).Lock(context.Background()) })
		}
		more.Wait()
		if _, pipelines := store.until(away); !slices.Contains(pipelines, 30) {
			t.Errorf("with the first answer left pipelines of %v, want one of 30 among them", pipelines)
		}
	})
}

// When all is back requests travel alone again, however many were together before.
func TestFewRequestsTravelAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		for range 5 {
			manyCalls(t, client, 50)
		}
		alone, pipelines := store.until(time.Hour)
		manyCalls(t, client, 16)
		later, more := store.until(time.Hour)
		if later-alone != 32 || len(more) != len(pipelines) {
			t.Errorf("16 locks and releases made %d calls and %d pipelines, want 32 and none", later-alone, len(more)-len(pipelines))
		}
	})
}

// The request for several names is many together already.
func TestMultiTravelsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{})
		var others sync.WaitGroup
		others.Go(func() { manyCalls(t, client, 20) })
		defer others.Wait()
		synctest.Wait()
		lease, err := client.Multi("x", "y", "z").Lock(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		if alone, pipelines := store.until(2 * time.Millisecond); alone != 17 || !slices.Equal(pipelines, []int{4}) {
			t.Errorf("%d alone and pipelines of %v, want 17 and one of 4", alone, pipelines)
		}
	})
}

// In a Cluster nothing waits for others: they may be on a server that hangs.
func TestNothingIsDelayedInACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &distant{began: time.Now(), sharded: true}
		manyCalls(t, store.client(t, holdfast.Options{}), 100)
		if alone, pipelines := store.until(0); alone != 100 || len(pipelines) != 0 {
			t.Errorf("at once left %d alone and pipelines of %v, want 100 and none", alone, pipelines)
		}
	})
}

// A renewal that somebody waits for does not wait for others, nor share the time of an
// attempt with them.
func TestNoRenewalIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{TTL: time.Minute})
		lease, err := client.Mutex("held").Lock(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var others sync.WaitGroup
		others.Go(func() { manyCalls(t, client, 20) })
		synctest.Wait()
		if err := lease.EnsureHeld(context.Background()); err != nil {
			t.Error(err)
		}
		others.Wait()
		store.mu.Lock()
		defer store.mu.Unlock()
		for _, c := range store.sent {
			if c.method == "EvalAll" && c.renewals > 0 {
				t.Errorf("%d renewals in a pipeline of %d", c.renewals, c.scripts)
			}
		}
	})
}

// Neither does one that replicas are to acknowledge.
func TestDelayedAndReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, client := far(t, holdfast.Options{WaitReplicas: 1, TTL: time.Minute})
		manyCallsOver(t, client, 500, 5*away)
		store.mu.Lock()
		defer store.mu.Unlock()
		renewals := 0
		for _, c := range store.sent {
			renewals += c.renewals
			if c.method == "EvalWait" && c.renewals != c.scripts || c.method != "EvalWait" && c.renewals > 0 {
				t.Errorf("%s of %d calls, of which %d are renewals", c.method, c.scripts, c.renewals)
			}
		}
		if renewals < 500 {
			t.Errorf("%d renewals, want one for each grant", renewals)
		}
	})
}
