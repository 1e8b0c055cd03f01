package cronlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/cronlock"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/robfig/cron/v3"
)

// delayed runs f in a bubble, beside a cron whose job is due each second, while another
// process holds the name.
func delayed(t *testing.T, o *cronlock.Options, f func(c *cron.Cron, job, other *holdfast.Client, held *holdfast.Lease, runs *int)) {
	synctest.Test(t, func(t *testing.T) {
		store, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		other, client := holdfast.New(store, nil), holdfast.New(store, nil)
		defer other.Close()
		defer client.Close()
		held, err := other.Mutex("job").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		o.Logger = cron.DiscardLogger
		c := cron.New()
		c.Schedule(cron.Every(time.Second), cron.NewChain(cronlock.DelayIfHeld(client.Mutex("job"), o)).Then(
			cronlock.Func(func(context.Context, *holdfast.Lease) error { runs++; return nil })))
		c.Start()
		f(c, client, other, held, &runs)
	})
}

func waiting(client *holdfast.Client) (n int) {
	for _, here := range client.LocalState() {
		n += here.Waiting
	}
	return n
}

// One run of a job waits in a process, and the ticks meanwhile are skipped.
func TestOneRunWaits(t *testing.T) {
	delayed(t, &cronlock.Options{}, func(c *cron.Cron, client, other *holdfast.Client, held *holdfast.Lease, runs *int) {
		time.Sleep(10500 * time.Millisecond) // of the bubble: ten ticks
		if n := waiting(client); n != 1 {
			t.Errorf("%d runs wait after ten ticks, want 1", n)
		}
		stopped := c.Stop()
		if err := held.Release(); err != nil {
			t.Error(err)
		}
		if <-stopped.Done(); *runs != 1 {
			t.Errorf("%d runs in all, want 1", *runs)
		}
	})
}

// When a run that waited has got the name, the next tick waits in its stead.
func TestAfterAWaitTheNextWaits(t *testing.T) {
	delayed(t, &cronlock.Options{}, func(c *cron.Cron, client, other *holdfast.Client, held *holdfast.Lease, runs *int) {
		for i := range 3 {
			time.Sleep(1500 * time.Millisecond) // of the bubble
			if n := waiting(client); n != 1 {
				t.Errorf("%d runs wait, want 1", n)
			}
			_ = held.Release()
			var err error
			if held, err = other.Mutex("job").Lock(context.Background()); err != nil {
				t.Error(err)
				return
			}
			if *runs != i+1 {
				t.Errorf("%d runs, want %d", *runs, i+1)
			}
		}
		stopped := c.Stop()
		_ = held.Release()
		<-stopped.Done()
	})
}

// The context of Stop ends although the name stays held: a wait has its end.
func TestStopEndsWhileTheNameIsHeld(t *testing.T) {
	for _, test := range []struct{ wait, want time.Duration }{{0, cronlock.DefaultWait}, {5 * time.Second, 5 * time.Second}} {
		delayed(t, &cronlock.Options{Wait: test.wait}, func(c *cron.Cron, client, other *holdfast.Client, held *holdfast.Lease, runs *int) {
			time.Sleep(1500 * time.Millisecond) // of the bubble
			began := time.Now()
			select {
			case <-c.Stop().Done():
			case <-time.After(test.want + time.Second):
				t.Errorf("Wait %v: the context of Stop has not ended after %v", test.wait, time.Since(began))
				_ = held.Release()
			}
			if *runs > 0 {
				t.Errorf("it ran %d times beside the holder", *runs)
			}
		})
	}
}

// noted counts what is logged.
type noted struct{ infos, errors int }

func (l *noted) Info(string, ...any)         { l.infos++ }
func (l *noted) Error(error, string, ...any) { l.errors++ }

// A wait that ends while the store does not answer is an error, and one for a held name is not.
func TestOutageIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		connection := store.Connect()
		other, client := holdfast.New(store, nil), holdfast.New(connection, nil)
		defer other.Close()
		defer client.Close()
		held, err := other.Mutex("job").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l := &noted{}
		delay := cronlock.DelayIfHeld(client.Mutex("job"), &cronlock.Options{Wait: time.Second, Logger: l})
		job := delay(cron.FuncJob(func() { t.Error("it ran") }))
		if job.Run(); l.infos != 1 || l.errors != 0 {
			t.Errorf("while it is held: got %+v, want one Info", l)
		}
		connection.Disconnect()
		if job.Run(); l.infos != 1 || l.errors != 1 {
			t.Errorf("in an outage: got %+v, want one Error more", l)
		}
		connection.Reconnect()
		if err := held.Release(); err != nil {
			t.Error(err)
		}
	})
}
