//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/cronlock"
	"github.com/holdfast-go/holdfast/contrib/gocronlock"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/jonboulle/clockwork"
	"github.com/robfig/cron/v3"
)

// everyTick is when the jobs of these tests run, by the wall clock.
const (
	everyTick = "*/2 * * * * *"
	tickTime  = 2 * time.Second
	tickHold  = tickTime / 2
)

// ticks are the runs of a job in all schedulers.
type ticks struct {
	mu   sync.Mutex
	runs map[int64][]int // by tick: who ran it
}

func (k *ticks) ran(who int) {
	tick := time.Now().Add(tickTime/4).UnixNano() / int64(tickTime)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs == nil {
		k.runs = map[int64][]int{}
	}
	k.runs[tick] = append(k.runs[tick], who)
}

// after waits until so many ticks were run.
func (k *ticks) after(t *testing.T, n int) {
	t.Helper()
	clienttest.Eventually(t, fmt.Sprint(n, " ticks"), func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.runs) >= n
	})
}

// once wants each tick between the first and the last to have been run once.
func (k *ticks) once(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	first, last := int64(1)<<62, int64(0)
	for tick := range k.runs {
		first, last = min(first, tick), max(last, tick)
	}
	for tick := first; tick <= last; tick++ {
		if got := k.runs[tick]; len(got) != 1 {
			t.Errorf("tick %d of %d was run %d times, by %v, want once", tick-first, last-first, len(got), got)
		}
	}
}

// skew is by how much the clocks of two schedulers differ.
const skew = 400 * time.Millisecond

// fast is a clock that is ahead by d.
type fast struct {
	clockwork.Clock
	d time.Duration
}

func (c fast) Now() time.Time { return c.Clock.Now().Add(c.d) }

// gocronWith starts a scheduler of gocron, whose clock is ahead.
func gocronWith(t *testing.T, ahead time.Duration, option gocron.SchedulerOption, task any, options ...gocron.JobOption) gocron.Scheduler {
	t.Helper()
	s, err := gocron.NewScheduler(option, gocron.WithClock(fast{clockwork.NewRealClock(), ahead}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Shutdown() })
	if _, err := s.NewJob(gocron.CronJob(everyTick, true), gocron.NewTask(task), append(options, gocron.WithName("tick"))...); err != nil {
		t.Fatal(err)
	}
	s.Start()
	return s
}

// Two schedulers of gocron with a Locker run each tick of a job once, though it
// takes no time and their clocks differ.
func TestGocronLocker(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	var k ticks
	for who := range 2 {
		locker := gocronlock.NewLocker(clienttest.Open(t, server.URL(), holdfast.Options{}), &gocronlock.Options{MinHold: tickHold})
		gocronWith(t, time.Duration(who)*skew, gocron.WithDistributedLocker(locker), locker.Task("tick", func(_ context.Context, lease *holdfast.Lease) error {
			k.ran(who)
			return lease.Err()
		}))
	}
	k.after(t, 5)
	k.once(t)
}

// Two schedulers of gocron with an Elector: one runs everything until it closes,
// then the other.
func TestGocronElector(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	var k ticks
	var electors []*gocronlock.Elector
	var schedulers []gocron.Scheduler
	for who := range 2 {
		elector := gocronlock.NewElector(clienttest.Open(t, server.URL(), holdfast.Options{}), "leader")
		t.Cleanup(func() { _ = elector.Close() })
		electors = append(electors, elector)
		clienttest.Eventually(t, "the first leads", func() bool { return electors[0].IsLeader(t.Context()) == nil })
		schedulers = append(schedulers, gocronWith(t, 0, gocron.WithDistributedElector(elector), elector.Task(func(context.Context, *holdfast.Lease) error {
			k.ran(who)
			return nil
		})))
	}
	if err := electors[1].IsLeader(t.Context()); !errors.Is(err, gocronlock.ErrNotLeader) {
		t.Errorf("the second: got %v, want that it does not lead", err)
	}
	k.after(t, 2)
	time.Sleep(time.Until(time.Now().Truncate(tickTime).Add(tickTime + tickTime/2))) // not at a tick: then two may run it
	if err := errors.Join(schedulers[0].Shutdown(), electors[0].Close()); err != nil {
		t.Errorf("the first stops: got %v", err)
	}
	clienttest.Eventually(t, "the second leads", func() bool { return electors[1].IsLeader(t.Context()) == nil })
	k.mu.Lock()
	before := len(k.runs)
	k.mu.Unlock()
	k.after(t, before+2)
	k.once(t)
	k.mu.Lock()
	defer k.mu.Unlock()
	by := map[int]int{}
	for _, who := range k.runs {
		by[who[0]]++
	}
	if by[0] < 2 || by[1] < 2 {
		t.Errorf("the first ran %d ticks, the second %d, want two of each at least", by[0], by[1])
	}
}

// A job whose lease is lost while it runs hears of it by its context, with the
// cause, and the scheduler gets that cause, too.
func TestGocronLoss(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	locker := gocronlock.NewLocker(clienttest.Open(t, server.URL(), holdfast.Options{TTL: 3 * time.Second}), nil)
	elector := gocronlock.NewElector(clienttest.Open(t, server.URL(), holdfast.Options{TTL: 3 * time.Second}), "leader")
	t.Cleanup(func() { _ = elector.Close() })
	clienttest.Eventually(t, "it leads", func() bool { return elector.IsLeader(t.Context()) == nil })
	work := func(key string) func(context.Context, *holdfast.Lease) error {
		return func(ctx context.Context, _ *holdfast.Lease) error {
			if _, err := server.Do("DEL", key); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(3*time.Second + clienttest.Slack):
				t.Error("the context outlived the lease")
				return nil
			}
		}
	}
	for name, option := range map[string]gocron.SchedulerOption{
		"job:tick": gocron.WithDistributedLocker(locker), "leader": gocron.WithDistributedElector(elector),
	} {
		task := locker.Task("tick", work(clienttest.LockKey(name)))
		if name == "leader" {
			task = elector.Task(work(clienttest.LockKey(name)))
		}
		said := make(chan error, 100)
		gocronWith(t, 0, option, task, gocron.WithEventListeners(gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { said <- err })))
		select {
		case err := <-said:
			clienttest.LostBy(t, err, holdfast.Gone)
		case <-time.After(clienttest.Patience):
			t.Errorf("%s: the scheduler heard nothing", name)
		}
	}
	clienttest.Eventually(t, "it leads again", func() bool { return elector.IsLeader(t.Context()) == nil })
}

// A run without the lease it was made for is an error, not a run.
func TestGocronTaskWithoutLease(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{})
	holder := clienttest.Take(t, clienttest.Open(t, server.URL(), holdfast.Options{Owner: "holder"}), "leader")
	elector := gocronlock.NewElector(client, "leader")
	called := false
	f := func(context.Context, *holdfast.Lease) error {
		called = true
		return nil
	}
	for what, task := range map[string]func(context.Context) error{
		"no leader": elector.Task(f), "not locked": gocronlock.NewLocker(client, nil).Task("tick", f),
	} {
		if err := task(t.Context()); err == nil || called {
			t.Errorf("%s: got %v, called: %v, want an error", what, err, called)
		}
	}
	locker := gocronlock.NewLocker(client, &gocronlock.Options{Prefix: "lea"})
	clienttest.Eventually(t, "a name that is held says by whom", func() bool { // the elector may not have heard it yet
		_, err := locker.Lock(t.Context(), "der")
		held, ok := errors.AsType[*holdfast.HeldError](err)
		if !ok {
			t.Fatalf("a name that is held: got %v, want HeldError", err)
		}
		return held.Owner == "holder"
	})
	if err := elector.Close(); err != nil {
		t.Errorf("Close of one that waits: got %v, want nil", err)
	}
	clienttest.GiveBack(t, holder)
}

// Two crons run each tick of a job once with SkipIfHeld, and both of them, one at a
// time, with DelayIfHeld.
func TestCronWrappers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	var k ticks
	var mu sync.Mutex
	inside, most, delayed := 0, 0, map[int]int{}
	for who := range 2 {
		client := clienttest.Open(t, server.URL(), holdfast.Options{})
		c := cron.New(cron.WithSeconds())
		late := func(job cron.Job) cron.Job {
			return cron.FuncJob(func() {
				time.Sleep(time.Duration(who) * skew) // as if its clock were behind
				job.Run()
			})
		}
		add := func(wrapper cron.JobWrapper, job cron.Job) {
			if _, err := c.AddJob(everyTick, cron.NewChain(late, wrapper).Then(job)); err != nil {
				t.Fatal(err)
			}
		}
		quiet := cron.DiscardLogger
		add(cronlock.SkipIfHeld(client.Mutex("skip"), &cronlock.Options{MinHold: tickHold, Logger: quiet}), cron.FuncJob(func() { k.ran(who) }))
		add(cronlock.DelayIfHeld(client.Mutex("delay"), nil), cronlock.Func(func(context.Context, *holdfast.Lease) error {
			mu.Lock()
			inside++
			most = max(most, inside)
			delayed[who]++
			mu.Unlock()
			time.Sleep(50 * time.Millisecond)
			mu.Lock()
			inside--
			mu.Unlock()
			return nil
		}))
		c.Start()
		t.Cleanup(func() { <-c.Stop().Done() })
	}
	k.after(t, 5)
	k.once(t)
	mu.Lock()
	defer mu.Unlock()
	if most != 1 || delayed[0] < 3 || delayed[1] < 3 {
		t.Errorf("DelayIfHeld: %d at once, the two ran %v times, want one at once and both again and again", most, delayed)
	}
}

// A Func of cron hears of the loss of its lease, and is not run without one.
func TestCronLoss(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{TTL: 3 * time.Second})
	ended := make(chan error, 1)
	job := cronlock.Func(func(ctx context.Context, _ *holdfast.Lease) error {
		server.MustDo(t, "DEL", clienttest.LockKey("n"))
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil
	})
	go cronlock.SkipIfHeld(client.Mutex("n"), nil)(job).Run()
	select {
	case err := <-ended:
		clienttest.LostBy(t, err, holdfast.Gone)
	case <-time.After(3*time.Second + clienttest.Slack):
		t.Fatal("the context outlived the lease")
	}
	job.Run() // were it run, it would wait for ever
}
