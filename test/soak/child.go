//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/support/child"
)

// settingVariable makes this program a client process; setting is its value.
const settingVariable = "HOLDFAST_SOAK"

type setting struct {
	URL, Board     string
	Number         int
	Clients, Names int
	TTL            time.Duration
	Seed           uint64
}

// counts are what a client process says of itself: counts since it began, and
// what it has now, garbage collected.
type counts struct {
	Asked, Granted, Lost, Overlaps, Failed int64
	Goroutines                             int
	Heap                                   uint64
	Error                                  string // the newest that is none of those expected
}

// worker is a process with many Clients.
type worker struct {
	setting
	board                                  *board
	asked, granted, lost, overlaps, failed atomic.Int64
	trouble                                atomic.Pointer[string]
}

func runChild(text string) error {
	redis.SetLogger(&logging.VoidLogger{}) // faults are expected
	c := &worker{}
	if err := json.Unmarshal([]byte(text), &c.setting); err != nil {
		return err
	}
	var err error
	if c.board, err = openBoard(c.Board, c.Names); err != nil {
		return err
	}
	ctx, finish := context.WithCancel(context.Background())
	defer finish()
	var working sync.WaitGroup
	for i := range c.Clients {
		if err := c.client(ctx, &working, i); err != nil {
			return err
		}
	}
	for lines := child.NewLines(os.Stdin); ; {
		var order string
		if lines.Read(&order) != nil {
			return nil // the parent is done
		}
		if order == "finish" {
			finish()
			working.Wait()
			time.Sleep(100 * time.Millisecond) // what a driver still ends by itself
		}
		if err := child.Say(os.Stdout, c.counts()); err != nil {
			return err
		}
	}
}

func (c *worker) counts() counts {
	var m runtime.MemStats
	debug.FreeOSMemory() // what is resident then is what is used
	runtime.ReadMemStats(&m)
	f := counts{
		Asked: c.asked.Load(), Granted: c.granted.Load(), Lost: c.lost.Load(), Overlaps: c.overlaps.Load(), Failed: c.failed.Load(),
		Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc,
	}
	if said := c.trouble.Load(); said != nil {
		f.Error = *said
	}
	return f
}

// client makes a Client with one caller, by the one driver or the other.
func (c *worker) client(ctx context.Context, working *sync.WaitGroup, i int) error {
	type store interface {
		driver.Store
		Close() error
	}
	var s store
	var err error
	for range 100 { // the server may be in trouble
		if i%4 != 0 {
			s, err = rueidisstore.Open(c.URL, nil)
		} else {
			s, err = goredisstore.Open(c.URL, nil)
		}
		if err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	client := holdfast.New(s, &holdfast.Options{
		TTL: c.TTL, Owner: fmt.Sprintf("soak-%d-%d", c.Number, i), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	random := rand.New(rand.NewPCG(c.Seed, uint64(i)))
	working.Go(func() {
		for ctx.Err() == nil {
			c.turn(ctx, client, random)
			select {
			case <-time.After(time.Duration(random.Int64N(int64(6 * time.Second)))):
			case <-ctx.Done():
			}
		}
		_ = client.Close()
		_ = s.Close()
	})
	return nil
}

// turn locks a name, most often one of a few, as what it is, and gives it back.
func (c *worker) turn(ctx context.Context, client *holdfast.Client, random *rand.Rand) {
	n := random.IntN(c.Names)
	if random.IntN(2) == 0 {
		n %= 50
	}
	name := fmt.Sprintf("soak:%d", n)
	limit := time.Minute
	if random.IntN(10) == 0 {
		limit = time.Duration(random.Int64N(int64(c.TTL)))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c.asked.Add(1)
	var lease *holdfast.Lease
	var err error
	mutex := false
	switch n % 10 {
	case 0:
		lease, err = client.Semaphore(name, 3).Acquire(ctx, 1+random.IntN(2))
	case 1:
		if rw := client.RWMutex(name); random.IntN(4) == 0 {
			lease, err = rw.Lock(ctx)
		} else {
			lease, err = rw.RLock(ctx)
		}
	default:
		mutex = true
		lease, err = client.Mutex(name).Lock(ctx)
	}
	if err != nil {
		c.refused(ctx, err)
		return
	}
	c.granted.Add(1)
	c.work(ctx, lease, n, mutex, random)
	if err := lease.Release(); errors.Is(err, holdfast.ErrLost) {
		c.lost.Add(1)
	} else if err != nil && !errors.Is(err, holdfast.ErrUnknown) {
		c.refused(ctx, err)
	}
}

// refused counts an error that a fault does not explain.
func (c *worker) refused(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrUnknown) || errors.Is(err, holdfast.ErrLost) ||
		errors.Is(err, holdfast.ErrTooSlow) { // who was frozen twice in a row while it asked
		return
	}
	c.failed.Add(1)
	said := err.Error()
	c.trouble.Store(&said)
}

// work stays inside for a moment, most often.
func (c *worker) work(ctx context.Context, lease *holdfast.Lease, name int, mutex bool, random *rand.Rand) {
	stay := time.Duration(random.Int64N(int64(5 * time.Millisecond)))
	switch random.IntN(10) {
	case 0:
		stay = time.Duration(random.Int64N(int64(c.TTL * 3 / 2)))
	case 1, 2:
		stay = time.Duration(random.Int64N(int64(200 * time.Millisecond)))
	}
	if mutex && lease.Err() == nil {
		until := history.Now() + int64(lease.Remaining())
		if !c.board.enter(name, until) && lease.Err() == nil {
			c.overlaps.Add(1)
		}
		defer c.board.leave(name, until)
	}
	select {
	case <-time.After(stay):
	case <-lease.Done():
	case <-ctx.Done():
	}
}
