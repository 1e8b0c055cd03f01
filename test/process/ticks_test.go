//go:build unix

package process_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/go-co-op/gocron/v2"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/cronlock"
	"github.com/holdfast-go/holdfast/contrib/gocronlock"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/jonboulle/clockwork"
	"github.com/robfig/cron/v3"
)

// ticking is a scheduler with one job, "tick", which it runs every few seconds, and
// whose clock is behind.
type ticking struct {
	Library string // "gocron" or "cron"
	Behind  time.Duration
}

// The job is held for longer than the ttl, but not until the next tick of a clock
// that is behind; and longer than it takes that to come to the same tick.
const (
	slowTicks    = "*/6 * * * * *"
	slowTickTime = 6 * time.Second
	slowTickTTL  = 600 * time.Millisecond
	slowTickHold = 4 * time.Second
	slowTickSkew = 1500 * time.Millisecond
)

// tick is the number of the tick that a run belongs to, by the scheduler's clock.
func (k ticking) tick() int64 {
	return time.Now().Add(slowTickTime/4-k.Behind).UnixNano() / int64(slowTickTime)
}

// start starts the scheduler. stop ends it.
func (k ticking) start(client *holdfast.Client, job func(ctx context.Context, lease *holdfast.Lease) error) (stop func(), err error) {
	if k.Library == "cron" {
		c := cron.New(cron.WithSeconds())
		late := func(job cron.Job) cron.Job {
			return cron.FuncJob(func() {
				time.Sleep(k.Behind) // as if its clock were behind
				job.Run()
			})
		}
		skip := cronlock.SkipIfHeld(client.Mutex("job:tick"), &cronlock.Options{MinHold: slowTickHold, Logger: cron.DiscardLogger})
		_, err := c.AddJob(slowTicks, cron.NewChain(late, skip).Then(cronlock.Func(job)))
		c.Start()
		return func() { <-c.Stop().Done() }, err
	}
	locker := gocronlock.NewLocker(client, &gocronlock.Options{MinHold: slowTickHold})
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithClock(fast{clockwork.NewRealClock(), -k.Behind}))
	if err != nil {
		return nil, err
	}
	_, err = s.NewJob(gocron.CronJob(slowTicks, true), gocron.NewTask(locker.Task("tick", job)), gocron.WithName("tick"))
	s.Start()
	return func() { _ = s.Shutdown() }, err
}

// first says of which tick the first run is that began; it goes on for ever.
func (k ticking) first(client *holdfast.Client) int64 {
	began := make(chan int64, 1)
	_, err := k.start(client, func(context.Context, *holdfast.Lease) error {
		began <- k.tick()
		select {}
	})
	if err != nil {
		return 0
	}
	return <-began
}

// A process is killed right after its job began, with a ttl that is over long before
// another scheduler, whose clock is behind, comes to the same tick. That one does not
// run it again, and runs each of the next once.
func TestProcessTickKilled(t *testing.T) {
	t.Parallel()
	for _, library := range []string{"gocron", "cron"} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			behind := ticking{library, slowTickSkew}
			var runs [1 << 16]atomic.Int32 // by tick
			var newest atomic.Int64
			stop, err := behind.start(clienttest.Open(t, server.URL(), holdfast.Options{TTL: slowTickTTL}), func(context.Context, *holdfast.Lease) error {
				tick := behind.tick()
				runs[tick%int64(len(runs))].Add(1)
				newest.Store(tick)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			process := startProcesses(t, server, slowTickTTL, "A")[0]
			began := process.order(order{Do: "ticks", Ticks: ticking{Library: library}}).wait()
			process.kill()
			tick := began.At
			clienttest.Eventually(t, "two more ticks", func() bool { return newest.Load() >= tick+2 })
			for after, want := range []int32{0, 1, 1} {
				if got := runs[(tick+int64(after))%int64(len(runs))].Load(); got != want {
					t.Errorf("tick %d after that of the killed process ran %d times here, want %d", after, got, want)
				}
			}
		})
	}
}
