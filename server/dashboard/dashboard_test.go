package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// Every page shows, without JavaScript, what its heading promises.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, &dashboard.Options{Journal: written{}})
		b.hold("invoice:42")
		b.wait("invoice:42", "web-7:123")
		leader, err := b.client.Election("scheduler").Campaign(t.Context(), "10.0.0.3:8080")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = leader.Release() })
		b.shows("/", "invoice:42", "Needs attention", "Longest queues", ">2<")
		b.shows("/locks", "invoice:42", "scheduler", "election", "alice", "ttl-bar")
		b.shows("/lock?name=invoice:42", "invoice:42", "alice", "web-7:123", "History", "Tenure")
		b.shows("/processes", "web-7", "web-7:123", "alice", "held by")
		b.shows("/problems", "No problems")
		b.shows("/events", "The journal is empty", "granted")
		b.shows("/elections", "scheduler", "10.0.0.3:8080", "Leads")
		b.shows("/jobs", "nightly", "failed", "web-1:77", "never")
		b.shows("/redis", "lock", "OK", "What this dashboard costs")
		if status, _, body := b.get("/nothing"); status != http.StatusNotFound || !strings.Contains(body, "no such page") {
			t.Errorf("GET /nothing: got %d, want 404 and a page that says so", status)
		}
		if status, _, body := b.get("/lock"); status != http.StatusNotFound || !strings.Contains(body, "contains no name") || strings.Contains(body, "History") {
			t.Errorf("a lock without a name: got %d and\n%s\nwant 404 and nobody's past", status, body)
		}
		if status, _, _ := b.get("/lock?name=never-used"); status != http.StatusNotFound {
			t.Errorf("a name that nobody used: got %d, want 404", status)
		}
	})
}

// Of several who hold a name each is shown with the time that it has itself.
func TestProcessesShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		for owner, ttl := range map[string]time.Duration{"long:1": time.Hour, "short:2": 10 * time.Minute} {
			client := holdfast.New(b.store, &holdfast.Options{Owner: owner, TTL: ttl})
			t.Cleanup(func() { client.Close() })
			lease, err := client.Semaphore("gpu", 4).Acquire(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lease.Release() })
		}
		body := b.shows("/processes", "long:1", "short:2")
		for _, ttl := range []string{"renews in 20m", "renews in 3m"} {
			if got := strings.Count(body, ttl); got != 1 {
				t.Errorf("%s: got it %d times, want once", ttl, got)
			}
		}
	})
}

// Whether the server is fit depends on the ttl of the locks.
func TestChecksByTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open(t, &dashboard.Options{TTL: time.Second}).shows("/redis", "well below 1s")
		open(t, nil).shows("/redis", "well below 2s")
	})
}

// An empty Redis teaches the first command.
func TestEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		for _, path := range []string{"/", "/locks", "/processes", "/problems"} {
			b.shows(path, "holdfast run nightly -- sleep 30")
		}
		b.shows("/elections", "holdfast elect")
		b.shows("/jobs", "There is no record of jobs")
		b.shows("/events", "holdfast run")
	})
}

// Filter, state, sort and parts of a long table are links and forms, so they work in
// any browser.
func TestFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		for _, name := range []string{"a:1", "a:2", "b:1"} {
			b.hold(name)
		}
		b.wait("a:2", "bob")
		b.shows("/locks", "a:1", "b:1")
		for _, c := range []struct{ query, want, not string }{
			{"q=a:", "a:1", "b:1"},
			{"q=BOB", "a:2", "a:1"},
			{"state=waiting", "a:2", "b:1"},
			{"state=free", "No name is in that state", "b:1"},
			{"q=zzz", "No name or process matches", "b:1"},
		} {
			if body := b.shows("/locks?"+c.query, c.want); strings.Contains(body, `name=`+url.QueryEscape(c.not)+`"`) {
				t.Errorf("?%s shows %s", c.query, c.not)
			}
		}
		body := b.shows("/locks?sort=name&order=down", "a:1")
		if strings.Index(body, ">b:1<") > strings.Index(body, ">a:1<") {
			t.Error("?sort=name&order=down: got a:1 before b:1")
		}
	})
}

// A long table is shown in parts, so that a browser carries no more than 100 rows.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		for i := range 120 {
			b.hold("lock:" + string(rune('a'+i/26)) + string(rune('a'+i%26)))
		}
		body := b.shows("/locks", "1 to 100 of 120", "page=2")
		if got := strings.Count(body, `<tr data-key=`); got != 100 {
			t.Errorf("rows: got %d, want 100", got)
		}
		body = b.shows("/locks?page=2", "101 to 120 of 120", "page=1")
		if got := strings.Count(body, `<tr data-key=`); got != 20 {
			t.Errorf("rows of the second part: got %d, want 20", got)
		}
	})
}

// Whatever a name or label contains is text, with what hides or turns it spelled out.
func TestHostileNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, &dashboard.Options{Authorize: dashboard.AllowAll, Journal: written{
			{At: time.Now(), Event: journal.Lost, Name: "turned\u202e\n", Owner: "\u202egnp.exe", Reason: "a\u2066b\x00"},
		}})
		script := `<script>alert("1")</script>`
		long := strings.Repeat("長", 512/3-3)
		owner := newClient(t, b.store, `"><img src=x onerror=alert(1)>`)
		for _, name := range []string{script, "'\"><svg/onload=alert(1)>", long, "../../etc/passwd?x=1#y", "שלום", "javascript:alert(1)"} {
			lease, err := owner.Mutex(name).Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lease.Release() })
		}
		// What nobody who uses holdfast can write stands in Redis all the same.
		evil := strings.Repeat("A", 22) + "." + strings.Repeat("B", 11) + ".60000|\u202egnp.exe\n<b>x"
		if _, err := b.store.Do("SET", "holdfast:evil", evil, "PX", "60000"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.Do("SET", "holdfast/fence:{holdfast:evil}", "1", "PX", "60000"); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/locks", "/processes", "/problems", "/events", "/elections", "/lock?name=" + url.QueryEscape(script), "/lock?name=evil", "/locks?q=" + url.QueryEscape(script)} {
			body := b.shows(path, "</html>")
			for _, not := range []string{"<script>alert", "<img", "<svg/onload", "\u202e", "\u2066", "\x00", `href="javascript:`, "<b>x"} {
				if strings.Contains(body, not) {
					t.Errorf("GET %s contains %q", path, not)
				}
			}
		}
		b.shows("/events", `\u202egnp.exe`, `turned\u202e\n`)
		b.shows("/locks", "&lt;script&gt;alert(", "../../etc/passwd?x=1#y", "evil")
		b.shows("/lock?name="+url.QueryEscape("../../etc/passwd?x=1#y"), "onerror=alert(1)&gt;")
		b.shows("/lock?name="+url.QueryEscape(long), long)
	})
}

// A page tells browsers to run nothing but what the dashboard itself serves, and to
// keep nothing.
func TestHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		for _, path := range []string{"/", "/lock?name=x", "/nothing"} {
			_, h, body := b.get(path)
			for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8"} {
				if got := h.Get(name); got != want {
					t.Errorf("GET %s: %s: got %q, want %q", path, name, got, want)
				}
			}
			policy := h.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
				t.Errorf("GET %s: Content-Security-Policy: got %q", path, policy)
			}
			for _, not := range []string{" style=", "<style", " onclick=", "<script>"} {
				if strings.Contains(body, not) {
					t.Errorf("GET %s contains %q, which the policy forbids", path, not)
				}
			}
		}
	})
}

// Everything a page refers to is served below the base path, scripts and styles for
// ever, and nothing beside it.
func TestBasePath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, &dashboard.Options{BasePath: "/ops/locks", Authorize: dashboard.AllowAll})
		b.hold("invoice:42")
		for _, path := range []string{"/", "/locks", "/lock?name=invoice:42", "/processes", "/events"} {
			body := b.shows(path, "</html>")
			for _, attribute := range []string{`href="`, `src="`, `action="`} {
				for part := range strings.SplitSeq(body, attribute) {
					target, _, _ := strings.Cut(part, `"`)
					if strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "/ops/locks/") {
						t.Errorf("GET %s leads to %s, beside the base path", path, target)
					}
					if strings.Contains(target, "/assets/") {
						answer, err := b.http.Get(b.host + target)
						if err != nil {
							t.Fatal(err)
						}
						status, h, _ := read(t, answer)
						if status != http.StatusOK || !strings.Contains(h.Get("Cache-Control"), "immutable") {
							t.Errorf("GET %s: got %d, %q", target, status, h.Get("Cache-Control"))
						}
					}
				}
			}
		}
		answer, err := b.http.Get(b.host + "/locks")
		if err != nil {
			t.Fatal(err)
		}
		if status, _, _ := read(t, answer); status != http.StatusNotFound {
			t.Errorf("GET /locks, beside the base path: got %d, want 404", status)
		}
		answer, err = b.http.Get(b.host + "/ops/locks")
		if err != nil {
			t.Fatal(err)
		}
		if status, _, body := read(t, answer); status != http.StatusOK || !strings.Contains(body, "Overview") {
			t.Errorf("GET /ops/locks: got %d, want the overview", status)
		}
	})
}

// A base path that is none is a mistake of the program.
func TestBadBasePath(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	for _, path := range []string{"locks", "/locks/", "/", "/a/../b", "/a b", "/{x}"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("BasePath %q: no panic", path)
				}
			}()
			dashboard.Handler(admin.New(store, nil), &dashboard.Options{BasePath: path})
		}()
	}
}

// The stream tells of a newer picture soon after something changed.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		answer, done := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(done)
			b.handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/stream", nil))
		}()
		time.Sleep(3 * time.Second)
		cancel()
		<-done
		if got := answer.Header().Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("Content-Type: got %q", got)
		}
		if got := answer.Body.String(); strings.Count(got, "event: picture") < 3 {
			t.Errorf("in 3 s: got %q, want a picture each half a second", got)
		}
	})
}

// Many who watch cost Redis what one costs.
func TestOneSurveyForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		counted := &countingStore{Store: store}
		b := &board{t: t}
		b.serve(admin.New(counted, nil), nil)
		holder := newClient(t, store, "alice")
		lease, err := holder.Mutex("x").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lease.Release() })
		began := time.Now()
		for range 200 {
			answer, err := b.http.Get(b.url("/locks"))
			if err != nil {
				t.Fatal(err)
			}
			read(t, answer)
		}
		// A look is three commands here: names, state, and whether it is an election.
		most := 4 * (int64(time.Since(began)/(500*time.Millisecond)) + 2)
		if got := counted.evals.Load() + counted.scans.Load(); got > most {
			t.Errorf("200 pages in %v: got %d commands, want at most %d", time.Since(began), got, most)
		}
	})
}

// Many who fetch the same page at a time get one that was made once: times in it, which are
// to the millisecond, would differ otherwise.
func TestMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		b.hold("x")
		b.shows("/locks", "ttl-bar")
		began, seen := time.Now(), map[string]bool{}
		for range 200 {
			_, _, body := b.get("/locks")
			seen[body] = true
		}
		took := time.Since(began)
		if most := 6 + 2*int(took/(250*time.Millisecond)); len(seen) > most {
			t.Errorf("200 fetches in %v: got %d pages that differ, want at most %d", took, len(seen), most)
		}
		if _, _, body := b.get("/locks?q=x"); !strings.Contains(body, `value="x"`) {
			t.Error("another address: got the page of the first")
		}
	})
}

// When Redis stops answering the page says so and shows what was last seen.
func TestRedisGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		b.hold("invoice:42")
		b.shows("/locks", "invoice:42")
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		body := b.shows("/locks", "The newest poll of Redis failed", "invoice:42")
		_, why, _ := strings.Cut(body, "The newest poll of Redis failed.")
		why, _, _ = strings.Cut(why, "The data is from")
		if strings.Contains(why, "invoice:42") || !strings.HasSuffix(why, ".</bdi> ") {
			t.Errorf("why the poll failed: got %q, want a sentence about no name", why)
		}
		b.shows("/redis", "FAIL")
	})
}

// Before anything was seen no page says that all is well, nor that a name is not there.
func TestRedisGoneFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/locks", "/processes", "/problems", "/elections", "/lock?name=invoice:42"} {
			body := b.shows(path, "The newest poll of Redis failed", "There is no data yet.", "<h1")
			for _, well := range []string{"in time", "No name", "No process", "No election", "No problems", "was not used"} {
				if strings.Contains(body, well) {
					t.Errorf("%s: says %q of what nobody has seen", path, well)
				}
			}
		}
		b.shows("/redis", "FAIL")
	})
}
