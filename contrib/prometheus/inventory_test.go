package holdfastprom_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/driver"
)

// walked counts the scans of a store, which hang while it says so.
type walked struct {
	driver.Store
	scans atomic.Int32
	hangs atomic.Bool
}

func (w *walked) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	w.scans.Add(1)
	if w.hangs.Load() {
		return func(yield func(string, error) bool) {
			<-ctx.Done()
			yield("", ctx.Err())
		}
	}
	return w.Store.Scan(ctx, match)
}

func plain(t testing.TB, store driver.Store, owner string) *holdfast.Client {
	t.Helper()
	client := holdfast.New(store, &holdfast.Options{TTL: time.Minute, Owner: owner})
	t.Cleanup(func() { client.Close() })
	return client
}

// The inventory counts what stands in Redis, by kind and by what is to be said of it,
// whoever put it there.
func TestInventory(t *testing.T) {
	store := embed(t)
	a, b := plain(t, store, "A"), plain(t, store, "B")
	lock(t, a, "x")
	lock(t, a, "y")
	if _, err := a.Semaphore("s", 3).Acquire(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if _, err := a.RWMutex("rw").RLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := lock(t, a, "free").Release(); err != nil {
		t.Fatal(err)
	}
	set := driver.Call{Script: driver.NewScript("set", "return redis.call('SET', KEYS[1], 'x')"), Keys: []string{"holdfast:free"}}
	if _, err := store.Eval(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	wait, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	for _, name := range []string{"x", "y"} {
		go b.Mutex(name).Lock(wait) //nolint:errcheck // it only waits
	}
	// A new one each time: figures are not taken anew before Every has passed.
	end := time.Now().Add(patience)
	for scrape(t, holdfastprom.NewInventory(admin.Of(a), &holdfastprom.InventoryOptions{Wait: patience}))["holdfast_inventory_waiting{mutex}"] != 2 {
		if time.Now().After(end) {
			t.Fatal("two waiters are not counted")
		}
	}
	shows(t, holdfastprom.NewInventory(admin.Of(a), &holdfastprom.InventoryOptions{Wait: patience}), map[string]float64{
		"holdfast_inventory_up": 1, "holdfast_inventory_capped": 0,
		"holdfast_inventory_names{held}": 5, "holdfast_inventory_names{free}": 0, "holdfast_inventory_names{unreadable}": 0,
		"holdfast_inventory_held{mutex}": 3, "holdfast_inventory_held{semaphore}": 1, "holdfast_inventory_held{rwmutex}": 1,
		"holdfast_inventory_waiting{mutex}": 2, "holdfast_inventory_waiting{semaphore}": 0,
		"holdfast_inventory_diagnosed{no-ttl,true}": 1, "holdfast_inventory_diagnosed{held-healthy,false}": 4,
		"holdfast_inventory_diagnosed{starving,true}": 0,
	})
	only := holdfastprom.NewInventory(admin.Of(a), &holdfastprom.InventoryOptions{Wait: patience, Prefix: "x"})
	shows(t, only, map[string]float64{"holdfast_inventory_names{held}": 1, "holdfast_inventory_waiting{mutex}": 1})
	if longest := scrape(t, only)["holdfast_inventory_longest_wait_seconds{mutex}"]; longest <= 0 || longest > patience.Seconds() {
		t.Errorf("longest wait: got %v, want what has passed", longest)
	}
}

// An Inventory uses the usual hold times, and leaves out the names of Except.
func TestInventoryKnowsMore(t *testing.T) {
	store := embed(t)
	a := plain(t, store, "A")
	for _, name := range []string{"x", "legacy:x"} { // held for years
		lock(t, a, name)
		set := driver.Call{Script: driver.NewScript("set", "return redis.call('SET', KEYS[1], '1')"), Keys: []string{"holdfast/fence:{holdfast:" + name + "}"}}
		if _, err := store.Eval(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	options := &holdfastprom.InventoryOptions{Wait: patience}
	diagnosed := func(heldLong float64) {
		t.Helper()
		shows(t, holdfastprom.NewInventory(admin.Of(a), options), map[string]float64{
			"holdfast_inventory_diagnosed{held-long,true}": heldLong, "holdfast_inventory_held{mutex}": 2,
		})
	}
	diagnosed(2)
	options.Except = func(name string) bool { return strings.HasPrefix(name, "legacy:") }
	diagnosed(1)
	options.Diagnose = &diagnose.Options{Typical: func(string) (time.Duration, bool) { return 500_000 * time.Hour, true }}
	diagnosed(0)
}

// However many scrape, Redis is asked once in Every, and by one at a time.
func TestInventoryIsNotTakenTooOften(t *testing.T) {
	store := &walked{Store: embed(t)}
	inventory := holdfastprom.NewInventory(admin.Of(plain(t, store, "A")), &holdfastprom.InventoryOptions{Every: time.Hour, Wait: patience})
	scrape(t, inventory)
	asked := store.scans.Load()
	for range 20 {
		scrape(t, inventory)
	}
	if got := store.scans.Load(); asked == 0 || got != asked {
		t.Errorf("scans: got %d after one scrape and %d after twenty, want the same", asked, got)
	}
}

// A program that surveys and a scraper share one survey. One of too many names is refused.
func TestInventorySurvey(t *testing.T) {
	store := &walked{Store: embed(t)}
	client := plain(t, store, "A")
	lock(t, client, "n")
	inventory := holdfastprom.NewInventory(admin.Of(client), &holdfastprom.InventoryOptions{Wait: patience})
	report, err := inventory.Survey(t.Context())
	if err != nil || len(report.Names) != 1 || report.Names[0].Name != "n" {
		t.Fatalf("got %+v, %v", report, err)
	}
	asked := store.scans.Load()
	shows(t, inventory, map[string]float64{"holdfast_inventory_names{held}": 1})
	if got := store.scans.Load(); got != asked {
		t.Errorf("a scrape after a survey made %d scans, want none", got-asked)
	}
	lock(t, client, "m")
	if report, err = inventory.Survey(t.Context()); err != nil || len(report.Names) != 2 {
		t.Errorf("the next one: got %+v, %v", report, err)
	}
	few := holdfastprom.NewInventory(admin.Of(client), &holdfastprom.InventoryOptions{MaxNames: 1})
	if _, err := few.Survey(t.Context()); err == nil {
		t.Error("a survey of too many names was made")
	}
}

// Where Redis hangs, a scrape waits no longer than Wait, shows the old figures as old, and
// begins no second survey beside the first, which ends by itself at Limit.
func TestInventoryNeverBlocksAScrape(t *testing.T) {
	store := &walked{Store: embed(t)}
	client := plain(t, store, "A")
	lock(t, client, "n")
	const wait, limit = 50 * time.Millisecond, 2 * time.Second
	inventory := holdfastprom.NewInventory(admin.Of(client), &holdfastprom.InventoryOptions{Every: time.Millisecond, Wait: wait, Timeout: limit})
	shows(t, inventory, map[string]float64{"holdfast_inventory_up": 1, "holdfast_inventory_names{held}": 1})
	goroutines := runtime.NumGoroutine()

	store.hangs.Store(true)
	end := time.Now().Add(patience)
	for got := scrape(t, inventory); got["holdfast_inventory_up"] == 1; got = scrape(t, inventory) {
		if n := got["holdfast_inventory_names{held}"]; n != 1 {
			t.Fatalf("held while a survey hangs: got %v, want the old 1", n)
		}
		if n := runtime.NumGoroutine(); n > goroutines+20 {
			t.Fatalf("goroutines: got %d, want about %d", n, goroutines)
		}
		if time.Now().After(end) {
			t.Fatal("a survey that hangs is never given up")
		}
	}
	began, asked := time.Now(), store.scans.Load()
	scrape(t, inventory)
	scrape(t, inventory)
	if took := time.Since(began); took > limit {
		t.Errorf("two scrapes took %v, want some %v", took, 2*wait)
	}
	if got := store.scans.Load() - asked; got > 1 {
		t.Errorf("surveys that two scrapes began: got %d, want one", got)
	}
	got := scrape(t, inventory)
	if age := got["holdfast_inventory_age_seconds"]; age < 1 {
		t.Errorf("age: got %v s, want more than a second", age)
	}
	if n := got["holdfast_inventory_names{held}"]; n != 1 {
		t.Errorf("held after a failed survey: got %v, want the old 1", n)
	}
	store.hangs.Store(false)
	shows(t, inventory, map[string]float64{"holdfast_inventory_up": 1})
}

// Where there are too many names nothing is surveyed, and it says so.
func TestInventoryIsCapped(t *testing.T) {
	store := embed(t)
	client := plain(t, store, "A")
	for i := range 4 {
		lock(t, client, fmt.Sprint("n", i))
	}
	options := holdfastprom.InventoryOptions{Wait: patience, MaxNames: 4}
	shows(t, holdfastprom.NewInventory(admin.Of(client), &options), map[string]float64{"holdfast_inventory_up": 1, "holdfast_inventory_capped": 0})
	options.MaxNames = 3
	inventory := holdfastprom.NewInventory(admin.Of(client), &options)
	shows(t, inventory, map[string]float64{"holdfast_inventory_up": 0, "holdfast_inventory_capped": 1})
	if _, shown := scrape(t, inventory)["holdfast_inventory_names{held}"]; shown {
		t.Error("figures are shown that nobody took")
	}
}
