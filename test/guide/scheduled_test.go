//go:build unix

package guide_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/robfig/cron/v3"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/cronlock"
	"github.com/holdfast-go/holdfast/contrib/gocronlock"
	"github.com/holdfast-go/holdfast/embedded"
)

// The code of docs/guide/04-scheduled-jobs.md.

type job = func(ctx context.Context, lease *holdfast.Lease) error

func onceEvery(ctx context.Context, client *holdfast.Client, report job) error {
	at := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC) // any tick: ten past each hour
	err := client.OnceEvery(ctx, "report", time.Hour, at, report)
	if errors.Is(err, holdfast.ErrNotDue) {
		return nil // another machine runs this tick, or has run it
	}
	return err
}

func inGocron(client *holdfast.Client, report job) (gocron.Scheduler, error) {
	locker := gocronlock.NewLocker(client, &gocronlock.Options{Every: time.Hour})
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return nil, err
	}
	failed := func(_ uuid.UUID, job string, err error) {
		if !errors.Is(err, holdfast.ErrNotDue) { // another process runs this tick, or has run it
			log.Println(job, "failed:", err)
		}
	}
	_, err = scheduler.NewJob(gocron.CronJob("10 * * * *", false),
		gocron.NewTask(locker.Task("report", report)), gocron.WithName("report"),
		gocron.WithEventListeners(gocron.AfterJobRunsWithError(failed), gocron.AfterLockError(failed)))
	return scheduler, err
}

func inCron(client *holdfast.Client, report job) (*cron.Cron, error) {
	c := cron.New()
	once := cronlock.OnceEvery(client, "report", time.Hour, time.Time{}, nil)
	_, err := c.AddJob("10 * * * *", once(cronlock.Func(report)))
	return c, err
}

func retried(send func(context.Context) error) job {
	return func(ctx context.Context, lease *holdfast.Lease) error {
		if err := send(ctx); err != nil {
			return holdfast.Retryable(err) // the next call runs this tick again
		}
		return nil
	}
}

func lastRun(ctx context.Context, client *holdfast.Client) error {
	run, err := client.LastRun(ctx, "report")
	if err != nil {
		return err
	}
	fmt.Println("began", run.Began, "ended", run.Ended, "outcome", run.Outcome)
	return nil
}

// Two machines call for the same tick: one of them runs the job. After Retryable it
// runs again.
func TestScheduledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		first, second := holdfast.New(store, nil), holdfast.New(store, nil)
		defer first.Close()
		defer second.Close()
		ran, outcome := 0, error(nil)
		report := retried(func(context.Context) error { ran++; return outcome })
		for _, step := range []struct {
			client  *holdfast.Client
			pass    time.Duration
			outcome error
			ran     int
		}{{first, 0, nil, 1}, {second, time.Minute, nil, 1}, {second, time.Hour, errBusy, 2}, {first, time.Minute, nil, 3}, {second, time.Minute, nil, 3}} {
			time.Sleep(step.pass)
			outcome = step.outcome
			if err := onceEvery(t.Context(), step.client, report); !errors.Is(err, step.outcome) {
				t.Errorf("got %v, want %v", err, step.outcome)
			}
			if ran != step.ran {
				t.Errorf("the job ran %d times, want %d", ran, step.ran)
			}
		}
		if err := lastRun(t.Context(), second); err != nil {
			t.Error(err)
		}
	})
}

var errBusy = errors.New("busy")

// The schedulers take the jobs, and would run them.
func TestScheduledJobsAreTaken(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client := holdfast.New(store, nil)
	defer client.Close()
	ran := make(chan int64, 2)
	report := func(_ context.Context, lease *holdfast.Lease) error { ran <- lease.Token(); return nil }

	scheduler, err := inGocron(client, report)
	if err != nil {
		t.Fatal(err)
	}
	scheduler.Start()
	if err := scheduler.Jobs()[0].RunNow(); err != nil {
		t.Error(err)
	}
	<-ran
	if err := scheduler.Shutdown(); err != nil {
		t.Error(err)
	}

	c, err := inCron(client, report)
	if err != nil {
		t.Fatal(err)
	}
	c.Entries()[0].WrappedJob.Run()
	<-ran
}
