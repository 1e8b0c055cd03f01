package browser_test

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// patience is for what happens soon, on a busy machine too.
const patience = time.Minute

// browser is the one that all tests open tabs in.
var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("-short: all of this needs a browser")
		return
	}
	ctx, closeBrowser, err := Browser(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	browser = ctx
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

func stage(t *testing.T, options *dashboard.Options) *Stage {
	t.Helper()
	return staged(t, options, false)
}

func staged(t *testing.T, options *dashboard.Options, withJournal bool) *Stage {
	t.Helper()
	s, err := NewStage(options, withJournal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// page is a tab.
type page struct {
	t    *testing.T
	ctx  context.Context
	base string
}

var wide = Look{Width: 1280, Height: 800}

func open(t *testing.T, s *Stage, path string, look Look) *page {
	t.Helper()
	return openAt(t, s.Server.URL, path, look)
}

func openAt(t *testing.T, base, path string, look Look) *page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	p := &page{t, ctx, base}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := look.As(ctx); err != nil {
		t.Fatal(err)
	}
	p.to(path)
	return p
}

func (p *page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

func (p *page) to(path string) {
	p.t.Helper()
	p.do("open "+path, chromedp.Navigate(p.base+path))
}

// ask is the value of a JavaScript expression.
func ask[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until polls a condition, and returns how long it took.
func (p *page) until(what, condition string) time.Duration {
	p.t.Helper()
	began := time.Now()
	for time.Since(began) < patience {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+condition+")"))
		cancel()
		if err == nil && is { // an error: the page is being replaced by another
			return time.Since(began)
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Fatalf("%s: not within %v; the page shows\n%s", what, patience, ask[string](p, "document.body.innerText"))
	return 0
}

func quoted(s string) string {
	text, _ := json.Marshal(s) // strings only
	return string(text)
}

func has(text string) string {
	return "document.getElementById('main').innerText.includes(" + quoted(text) + ")"
}

func lock(t *testing.T, client *holdfast.Client, name string) *holdfast.Lease {
	t.Helper()
	lease, err := client.Mutex(name).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// listens waits until the store knows that the holder of the name listens, which it does
// a second after it got the name: an order before that is not heard at once.
func listens(t *testing.T, s *Stage, name string) {
	t.Helper()
	const source = `return redis.call('PUBSUB', 'NUMSUB', 'holdfast/push:' .. string.match(redis.call('GET', KEYS[1]), '^([%w_-]+)%.'))`
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	call := driver.Call{
		Script: &driver.Script{Name: "listens", Source: source, SHA: hex.EncodeToString(sum[:])},
		Keys:   []string{"holdfast:" + name},
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		reply, err := s.Store.Eval(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(reply[1:], []string{"1"}) {
			return
		}
	}
	t.Fatalf("the holder of %s does not listen", name)
}

// What happens shows in every tab by itself, and soon: within about a second, of which
// a busy machine makes more.
func TestLive(t *testing.T) {
	s := stage(t, nil)
	alice := s.Client("alice", holdfast.DefaultTTL)
	one, two := open(t, s, "/locks", wide), open(t, s, "/", wide)
	one.until("an empty dashboard teaches", has("holdfast run nightly"))
	lease := lock(t, alice, "invoice:42")
	t.Logf("the first tab shows a grant after %v", one.until("the grant", has("invoice:42")))
	t.Logf("the second tab shows it %v later", two.until("the grant", has("invoice:42")))
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the first tab shows a release after %v", one.until("the release", "!"+has("invoice:42")))
	two.until("the release", "!"+has("alice"))
}

// A time limit runs down between two looks, and a pause stops everything, also a fetch that runs.
func TestPause(t *testing.T) {
	s := stage(t, nil)
	lock(t, s.Client("alice", holdfast.DefaultTTL), "x")
	p := open(t, s, "/locks", wide)
	p.until("the lock", "document.querySelector('.ttl-bar .fill')")
	ask[bool](p, `(() => {
		const real = window.fetch;
		window.fetch = async (...args) => {
			window.asked = true;
			await new Promise((go) => setTimeout(go, 1000));
			return real(...args);
		};
		return true;
	})()`)
	p.until("a fetch runs", "window.asked")
	p.do("pause", chromedp.KeyEvent("p"))
	p.until("it says so", "document.getElementById('live').innerText.includes('Paused')")
	before := ask[string](p, "document.getElementById('main').innerHTML")
	lock(t, s.Client("bob", holdfast.DefaultTTL), "y")
	looks(t, s, 3)
	if after := ask[string](p, "document.getElementById('main').innerHTML"); after != before {
		t.Error("the page changed while it was paused")
	}
	p.do("go on", chromedp.KeyEvent("p"))
	p.until("what was missed", has("bob"))
}

// looks returns when the dashboard has looked so often.
func looks(t *testing.T, s *Stage, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Server.URL+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	told := 0
	for lines := bufio.NewScanner(answer.Body); told <= n && lines.Scan(); {
		if lines.Text() == "event: picture" { // the first is the newest there is
			told++
		}
	}
	if told <= n {
		t.Fatalf("the stream told of %d looks, want %d", told-1, n)
	}
}

// The filter works as one types, keeps the focus while the page follows what happens,
// and stands in the address.
func TestFilter(t *testing.T) {
	s := stage(t, nil)
	alice := s.Client("alice", holdfast.DefaultTTL)
	for _, name := range []string{"invoice:1", "invoice:2", "report:1"} {
		lock(t, alice, name)
	}
	p := open(t, s, "/locks", wide)
	p.until("all", has("report:1"))
	p.do("press /", chromedp.KeyEvent("/"))
	p.until("the focus", "document.activeElement.id === 'filter'")
	ask[bool](p, "(document.activeElement.value = '', true)") // chromedp types the slash, which a keyboard does not
	p.do("type", chromedp.KeyEvent("inv"))
	p.until("the filtered", "!"+has("report:1")+" && "+has("invoice:2"))
	if at := ask[string](p, "location.search"); !strings.Contains(at, "q=inv") {
		t.Errorf("the address has %q, want the filter in it", at)
	}
	lock(t, alice, "invoice:3")
	p.until("a new one that matches", has("invoice:3"))
	if got := ask[string](p, "document.activeElement.id + '=' + document.activeElement.value"); got != "filter=inv" {
		t.Errorf("the focus is on %q, want it in the filter still", got)
	}
}

// Revoke: the button waits for the name and a reason; what was typed outlives the page's
// updates; then the holder loses its lease, and the other tab shows it.
func TestRevoke(t *testing.T) {
	s := stage(t, &dashboard.Options{Authorize: dashboard.AllowAll})
	lease := lock(t, s.Client("alice", holdfast.DefaultTTL), "invoice:42")
	p, other := open(t, s, "/lock?name=invoice:42", wide), open(t, s, "/events", wide)
	other.until("the page", has("There is no journal"))
	p.until("the holder", has("alice"))
	p.do("open the form", chromedp.Click("details summary"))
	listens(t, s, "invoice:42")
	const button = "document.querySelector('.button.revoke')"
	if !ask[bool](p, button+".disabled") {
		t.Error("the button can be pressed before anything is typed")
	}
	p.do("fill in the reason", chromedp.SendKeys("details input[name=reason]", "stuck since noon"))
	p.do("and half the name", chromedp.SendKeys("details input[name=confirm]", "invoice:"))
	shown := ask[string](p, "document.querySelector('footer time').dateTime")
	p.until("the page has followed", "document.querySelector('footer time').dateTime > "+quoted(shown))
	if got := ask[string](p, "document.querySelector('details input[name=reason]').value"); got != "stuck since noon" || !ask[bool](p, button+".disabled") {
		t.Errorf("after an update the reason is %q, and the button enabled: %v", got, !ask[bool](p, button+".disabled"))
	}
	p.do("the rest of the name", chromedp.SendKeys("details input[name=confirm]", "42"))
	p.until("the button", "!"+button+".disabled")
	p.do("press", chromedp.Click(".button.revoke"))
	p.until("the answer", "document.readyState === 'complete' && location.search.includes('did=revoke') && document.getElementById('main') && "+has("asked to stop"))
	select {
	case <-lease.Done():
	case <-time.After(patience):
		t.Fatal("the lease was not lost")
	}
	if reason, ok := lease.Revoked(); !ok || reason != "stuck since noon" {
		t.Errorf("the lease ended with %v", lease.Err())
	}
	_ = lease.Release()
	other.until("the end in the other tab", has("released"))
}

// Of a semaphore the button waits for the choice of a holder, too; the choice outlives the page's
// updates, and who comes meanwhile can be chosen.
func TestRevokeOneOfSeveral(t *testing.T) {
	s := stage(t, &dashboard.Options{Authorize: dashboard.AllowAll})
	acquire := func(owner string) *holdfast.Lease {
		lease, err := s.Client(owner, holdfast.DefaultTTL).Semaphore("pool", 3).Acquire(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lease.Release() })
		return lease
	}
	alice := acquire("alice")
	p := open(t, s, "/lock?name=pool", wide)
	p.until("the holder", has("alice"))
	p.do("open the form", chromedp.Click("details summary"))
	const button, chosen = "document.querySelector('.button.revoke')", "document.querySelector('select[name=tenure]').selectedOptions[0].text"
	p.do("fill in the reason", chromedp.SendKeys("details input[name=reason]", "stuck since noon"))
	p.do("and the name", chromedp.SendKeys("details input[name=confirm]", "pool"))
	if !ask[bool](p, button+".disabled") {
		t.Error("the button can be pressed before a holder is chosen")
	}
	p.do("choose", chromedp.SendKeys("details select[name=tenure]", "alice"))
	p.until("the button", "!"+button+".disabled")
	bob := acquire("bob")
	p.until("the other", "document.querySelectorAll('details[open] select option').length === 3")
	if got := ask[string](p, chosen); !strings.HasPrefix(got, "alice, 1 permit") || ask[bool](p, button+".disabled") {
		t.Errorf("after an update %q is chosen, and the button disabled: %v", got, ask[bool](p, button+".disabled"))
	}
	p.do("press", chromedp.Click(".button.revoke"))
	p.until("the answer", "document.readyState === 'complete' && location.search.includes('did=revoke')")
	select {
	case <-alice.Done():
	case <-time.After(patience):
		t.Fatal("the lease was not lost")
	}
	if err := bob.EnsureHeld(t.Context()); err != nil {
		t.Errorf("the other: %v", err)
	}
}

// Without JavaScript every page is there, can be filtered, and says that it stands still.
func TestWithoutJavaScript(t *testing.T) {
	s := stage(t, nil)
	alice := s.Client("alice", holdfast.DefaultTTL)
	lock(t, alice, "invoice:42")
	lock(t, alice, "report:1")
	p := open(t, s, "/locks", Look{Width: 1280, Height: 800, Still: true})
	p.until("the locks", has("invoice:42")+" && document.body.innerText.includes('A snapshot')")
	for _, path := range []string{"/", "/lock?name=invoice:42", "/processes", "/problems", "/events", "/elections", "/jobs", "/redis"} {
		p.to(path)
		p.until(path, "document.querySelector('h1')")
		if ask[bool](p, "[...document.querySelectorAll('.scripted')].some((e) => !e.hidden)") {
			t.Errorf("%s shows a control that needs JavaScript", path)
		}
	}
	p.to("/locks")
	p.do("filter", chromedp.SendKeys("#filter", "report\r"))
	p.until("the filtered", has("report:1")+" && !"+has("invoice:42"))
}

// Thousands of locks: the browser carries a hundred rows, and goes on drawing.
func TestThousands(t *testing.T) {
	_, at, client := onRedis(t, &holdfast.Options{TTL: time.Hour}) // so that renewals keep nobody busy
	alice := client("alice")
	var locking sync.WaitGroup
	for part := range 10 {
		locking.Go(func() {
			for i := range 500 {
				if _, err := alice.Mutex(fmt.Sprintf("lock:%04d", 500*part+i)).Lock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	locking.Wait()
	p := openAt(t, at, "/locks", wide)
	p.until("all of them", has("of 5,000"))
	p.until("the first hundred", "document.querySelectorAll('tbody tr').length === 100")
	if n := ask[int](p, "document.querySelectorAll('*').length"); n > 6000 {
		t.Errorf("the page has %d elements, want at most 6,000", n)
	}
	// No task of the page, an update among them, keeps it from drawing for long.
	p.until("an update", "(window.seen ??= document.querySelector('footer time').dateTime) !== document.querySelector('footer time').dateTime")
	ask[float64](p, `(window.longest ??= (new PerformanceObserver((l) => { for (const e of l.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({ type: "longtask", buffered: true }), 0))`)
	shown := ask[string](p, "document.querySelector('footer time').dateTime")
	p.until("another update", "document.querySelector('footer time').dateTime > "+quoted(shown))
	longest := ask[float64](p, "window.longest")
	t.Logf("the longest task took %.0f ms", longest)
	if longest > 2000 {
		t.Errorf("the longest task took %.0f ms: the page stands still meanwhile", longest)
	}
	p.to("/locks?page=50")
	p.until("the last", has("lock:4999"))
}

// A page whose server is gone says that it is not live.
func TestBroken(t *testing.T) {
	s := stage(t, nil)
	p := open(t, s, "/", wide)
	p.until("live", "document.querySelector('#live:not([hidden])')")
	s.Server.CloseClientConnections()
	s.Server.Listener.Close()
	p.until("the banner", "!document.getElementById('broken').hidden && document.getElementById('broken').innerText.includes('Not live')")
}

// A hostile name stays text when JavaScript puts it into the page, too.
func TestHostileName(t *testing.T) {
	s := stage(t, nil)
	name := `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`
	p := open(t, s, "/locks", wide)
	lock(t, s.Client(`"><img src=x onerror=window.pwned=1>`, holdfast.DefaultTTL), name)
	p.until("the name as text", has(name))
	p.to("/lock?name=" + url.QueryEscape(name))
	p.until("the name as text", has(name))
	if ask[bool](p, "!!window.pwned || !!document.querySelector('main img')") {
		t.Error("the name was taken as markup")
	}
}
