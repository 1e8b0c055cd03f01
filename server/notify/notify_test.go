package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/server/notify"
)

const secret = "https://hooks.example.test/services/T0/B0/hunter2"

// world has problems, a receiver of posts, and notifiers that post there. Its test runs in a
// bubble of testing/synctest.
type world struct {
	t     *testing.T
	store *embedded.Store
	log   bytes.Buffer

	mu       sync.Mutex // protects the rest
	problems map[string]diagnose.Code
	turns    bool                         // each survey finds another code
	broken   error                        // of a survey
	answer   func(try int) *http.Response // nil: 200
	dies     func()                       // kills the leader while it posts: it does not record that
	tries    int
	at       []time.Duration // when each try came, since the begin
	began    time.Time
	got      []notify.Message // that were answered 200
	bodies   []string
	results  map[notify.Result]int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &world{t: t, store: store, problems: map[string]diagnose.Code{}, began: time.Now(), results: map[notify.Result]int{}}
}

func (w *world) set(name string, code diagnose.Code) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problems[name] = code; code == "" {
		delete(w.problems, name)
	}
}

func (w *world) survey(context.Context) (*diagnose.Report, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &diagnose.Report{}
	for name, code := range w.problems {
		if w.turns {
			code = map[diagnose.Code]diagnose.Code{diagnose.NoTTL: diagnose.Starving, diagnose.Starving: diagnose.NoTTL}[code]
			w.problems[name] = code
		}
		r.Names = append(r.Names, diagnose.Name{
			Surveyed: admin.Surveyed{State: &admin.State{Name: name}},
			Reasons:  []diagnose.Diagnosis{{Code: code, Sentence: "it stands", Action: "look"}},
		})
	}
	slices.SortFunc(r.Names, func(a, b diagnose.Name) int { return strings.Compare(a.Name, b.Name) })
	return r, w.broken
}

// RoundTrip is the receiver.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dies != nil {
		go w.dies()
		<-r.Context().Done()
	}
	w.at = append(w.at, time.Since(w.began).Round(time.Second))
	if w.tries++; w.answer != nil {
		if a := w.answer(w.tries); a == nil {
			return nil, errors.New("connection refused")
		} else if a.StatusCode != http.StatusOK {
			return a, nil
		}
	}
	var m notify.Message
	_ = json.Unmarshal(body, &m)
	w.got, w.bodies = append(w.got, m), append(w.bodies, string(body))
	return status(http.StatusOK), nil
}

func status(code int, header ...string) *http.Response {
	r := &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// start begins a notifier of its own Client; end waits for its end.
func (w *world) start(o *notify.Options) (end func()) {
	w.t.Helper()
	o.URL, o.Transport, o.Source, o.Logger = secret, w, "redis://db", slog.New(slog.NewTextHandler(&w.log, nil))
	o.Count = func(r notify.Result) { w.mu.Lock(); defer w.mu.Unlock(); w.results[r]++ }
	n, err := notify.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	client := holdfast.New(w.store, &holdfast.Options{Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() { n.Run(ctx, client, w.survey) })
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
		_ = client.Close()
	})
}

// want checks what was posted since the last call: names that began as +name, that ended as
// -name, and changes that a sum leaves out as "more N".
func (w *world) want(after time.Duration, want ...string) {
	w.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := make([]string, 0, len(w.got))
	for _, m := range w.got {
		var all []string
		for _, p := range m.Began {
			all = append(all, "+"+p.Name)
		}
		for _, p := range m.Ended {
			all = append(all, "-"+p.Name)
		}
		if m.More > 0 {
			all = append(all, fmt.Sprint("more ", m.More))
		}
		got = append(got, strings.Join(all, " "))
	}
	w.got = nil
	if !slices.Equal(got, want) {
		w.t.Errorf("after %v: got %q, want %q", time.Since(w.began), got, want)
	}
}

// A problem is posted once it has stood for 10 s, and its end once it was gone for 15 s. What
// comes and goes faster is not posted.
func TestBeginAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start(&notify.Options{Except: func(name string) bool { return name == "dev" }})()
		w.set("n", diagnose.NoTTL)
		w.set("dev", diagnose.NoTTL)
		w.want(9 * time.Second)
		w.want(11*time.Second, "+n")
		w.set("n", diagnose.HeldLong) // less serious
		w.want(time.Minute)
		w.set("n", "")
		w.want(9 * time.Second)
		w.set("n", diagnose.NoTTL)
		w.want(time.Minute)
		w.set("n", "")
		w.want(25*time.Second, "-n")
		w.want(time.Minute)
		for range 100 {
			w.set("n", diagnose.NoTTL)
			w.want(5 * time.Second)
			w.set("n", "")
			w.want(5 * time.Second)
		}
	})
}

// A post in JSON, and in Slack's shape, where a name cannot mention a channel.
func TestShapes(t *testing.T) {
	for format, want := range map[notify.Format][2]string{
		notify.JSON: {
			`{"text":"\u003c!here\u003e\\x1b has a problem: no-ttl: it stands. What to do: look [redis://db]","at":"2000-01-01T00:00:10Z","source":"redis://db",` +
				`"began":[{"name":"\u003c!here\u003e\u001b","code":"no-ttl","sentence":"it stands","action":"look","since":"2000-01-01T00:00:00Z"}],"ended":[],"more":0}`,
			`{"text":"\u003c!here\u003e\\x1b has no problem any more: no-ttl lasted 40s [redis://db]","at":"2000-01-01T00:00:40Z","source":"redis://db",` +
				`"began":[],"ended":[{"name":"\u003c!here\u003e\u001b","code":"no-ttl","since":"2000-01-01T00:00:00Z"}],"more":0}`,
		},
		notify.Slack: {
			`{"text":"\u0026lt;!here\u0026gt;\\x1b has a problem: no-ttl: it stands. What to do: look [redis://db]"}`,
			`{"text":"\u0026lt;!here\u0026gt;\\x1b has no problem any more: no-ttl lasted 40s [redis://db]"}`,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			const name = "<!here>\x1b"
			w.set(name, diagnose.NoTTL)
			end := w.start(&notify.Options{Format: format})
			time.Sleep(21 * time.Second)
			w.set(name, "")
			time.Sleep(24 * time.Second)
			end()
			if !slices.Equal(w.bodies, want[:]) {
				t.Errorf("%s: got\n%s\nwant\n%s", format, strings.Join(w.bodies, "\n"), strings.Join(want[:], "\n"))
			}
		})
	}
}

// A name whose problem became more serious is posted again, and ends once. While names cannot be
// surveyed, nothing ends.
func TestMoreSerious(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start(&notify.Options{})()
		w.set("n", diagnose.HeldLong)
		w.want(20*time.Second, "+n")
		w.set("n", diagnose.NoTTL)
		w.want(20*time.Second, "+n")
		w.mu.Lock()
		w.broken, w.problems = errors.New("no answer"), map[string]diagnose.Code{}
		w.mu.Unlock()
		w.want(10 * time.Minute)
		if got := strings.Count(w.log.String(), "no answer"); got != 1 {
			t.Errorf("an outage is logged %d times, want once:\n%s", got, &w.log)
		}
		w.mu.Lock()
		w.broken = nil
		w.mu.Unlock()
		w.want(30*time.Second, "-n")
	})
}

// A minute has at most PerMinute posts. The last of them sums up the rest.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start(&notify.Options{PerMinute: 3})()
		for i := range 30 {
			w.set(fmt.Sprintf("n%02d", i), diagnose.HeldLong)
		}
		w.set("worst", diagnose.NoTTL)
		rest := make([]string, 20)
		for i := range rest {
			rest[i] = fmt.Sprintf("+n%02d", i+1)
		}
		w.want(20*time.Second, "+worst", "+n00", strings.Join(rest, " ")+" more 9")
		w.set("worst", "")
		w.set("last", diagnose.NoTTL)
		w.want(30 * time.Second) // the minute is not over
		w.want(30*time.Second, "+last", "-worst")
		w.want(10 * time.Minute)
	})
}

// The next leader posts no old problem, and posts the end of one that ended without a leader.
func TestNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first := w.start(&notify.Options{})
		w.set("stays", diagnose.NoTTL)
		w.set("ends", diagnose.NoTTL)
		w.want(20*time.Second, "+ends", "+stays")
		second := w.start(&notify.Options{})
		defer second()
		w.want(time.Minute)
		first()
		w.set("ends", "")
		w.set("begins", diagnose.NoTTL)
		w.want(time.Minute, "+begins", "-ends")
		w.want(10 * time.Minute)
	})
}

// A leader dies after a post, before it has recorded that. The next leader repeats the post, or posts the end if the problem
// is over by then. All posts say the same time of the begin, so that a receiver knows a repeated one.
func TestLeaderDiesAfterPost(t *testing.T) {
	for _, over := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.dies = w.start(&notify.Options{})
			w.set("n", diagnose.NoTTL)
			w.want(20*time.Second, "+n")
			w.dies()
			w.mu.Lock()
			w.dies = nil
			w.mu.Unlock()
			defer w.start(&notify.Options{})()
			if !over {
				w.want(30*time.Second, "+n")
			}
			w.set("n", "")
			w.want(30*time.Second, "-n")
			w.want(10 * time.Minute)
			since := regexp.MustCompile(`"since":"[^"]*"`).FindAllString(strings.Join(w.bodies, "\n"), -1)
			if len(slices.Compact(since)) != 1 {
				t.Errorf("posts say that it began at different times: %q", w.bodies)
			}
		})
	}
}

// A receiver that never answers may have got the begin of a problem, so it gets the end, too, with 4 tries and
// no more: the begin may have never come.
func TestReceiverNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer = func(int) *http.Response { return nil }
		w.set("n", diagnose.NoTTL)
		defer w.start(&notify.Options{})()
		w.want(30 * time.Second)
		begins := w.tries
		w.set("n", "")
		w.want(10 * time.Minute)
		if begins != 4 || w.tries != 8 {
			t.Errorf("got %d tries for the begin and %d for the end, want 4 each", begins, w.tries-begins)
		}
		w.mu.Lock()
		w.answer = nil
		w.mu.Unlock()
		w.want(10 * time.Minute)
		if names, err := w.store.Do("HKEYS", "holdfast/notified:holdfast:"); err != nil || fmt.Sprint(names) != "[]" {
			t.Errorf("the record has %v, %v, want nothing", names, err)
		}
	})
}

// A problem whose first post failed is posted again, even if its code changes with every survey.
func TestFailedBeginOfAProblemThatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer = func(int) *http.Response { return status(404) }
		w.set("n", diagnose.NoTTL)
		defer w.start(&notify.Options{})()
		w.want(20 * time.Second)
		w.mu.Lock()
		w.answer, w.turns = nil, true
		w.mu.Unlock()
		w.want(2*time.Minute, "+n")
	})
}

// A post that fails is tried 4 times, within 30 s, and again a minute later if it is still true.
func TestReceiverFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  func(try int) *http.Response
		at      []int // seconds of the tries, since the first
		results map[notify.Result]int
	}{
		{"twice", func(n int) *http.Response {
			if n < 3 {
				return status(503)
			}
			return status(200)
		}, []int{0, 1, 3}, map[notify.Result]int{"retried": 2, "posted": 1}},
		{"no connection", func(int) *http.Response { return nil }, []int{0, 1, 3, 7}, map[notify.Result]int{"retried": 3, "failed": 1}},
		{"refused", func(int) *http.Response { return status(404) }, []int{0}, map[notify.Result]int{"failed": 1}},
		{"redirect", func(int) *http.Response { return status(307, "Location", "https://elsewhere.test/") }, []int{0}, map[notify.Result]int{"failed": 1}},
		{"later", func(int) *http.Response { return status(429, "Retry-After", "12") }, []int{0, 12, 24}, map[notify.Result]int{"retried": 2, "failed": 1}},
		{"much later", func(int) *http.Response { return status(429, "Retry-After", "9999999999") }, []int{0}, map[notify.Result]int{"failed": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.answer = c.answer
				w.set("n", diagnose.NoTTL)
				end := w.start(&notify.Options{})
				defer end()
				time.Sleep(45 * time.Second)
				w.mu.Lock()
				var at []int
				for _, d := range w.at {
					at = append(at, int((d - w.at[0]).Seconds()))
				}
				if !slices.Equal(at, c.at) || fmt.Sprint(w.results) != fmt.Sprint(c.results) {
					t.Errorf("got tries at %v, %v; want %v, %v", at, w.results, c.at, c.results)
				}
				failed := c.results["failed"] > 0
				w.answer, w.got = nil, nil
				w.mu.Unlock()
				if failed {
					w.want(80*time.Second, "+n")
				}
				end()
				if log := w.log.String(); strings.Contains(log, "hunter2") || strings.Contains(log, "services") || failed != strings.Contains(log, "notification failed") {
					t.Errorf("the log:\n%s", log)
				}
			})
		})
	}
}

// A mistake is refused, without the URL in its error.
func TestMistakes(t *testing.T) {
	for _, o := range []notify.Options{
		{URL: ""}, {URL: "hunter2"}, {URL: "ftp://hunter2.test/x"}, {URL: "https:///hunter2"}, {URL: "https://x\x7fhunter2/"},
		{URL: secret, Format: "hunter3"}, {URL: secret, PerMinute: -1},
	} {
		if _, err := notify.New(&o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

// Another program has written into the record. A problem that it hides is posted, an end that never
// was is not, and the record has the true problem only.
func TestForgedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const key = "holdfast/notified:holdfast:"
		future := time.Now().AddDate(100, 0, 0).Format(time.RFC3339)
		for name, value := range map[string]string{
			"n": `{"code":"x"}`, "junk": "junk", "late": `{"code":"no-ttl","since":"` + future + `"}`, "old": `{"code":"no-ttl","since":"0001-01-01T00:00:00Z"}`,
			strings.Repeat("n", 513): `{"code":"no-ttl","since":"1999-12-31T00:00:00Z"}`, "long": `{"code":"` + strings.Repeat("x", 1<<20) + `"}`,
		} {
			if _, err := w.store.Do("HSET", key, name, value); err != nil {
				t.Fatal(err)
			}
		}
		defer w.start(&notify.Options{})()
		w.set("n", diagnose.NoTTL)
		w.want(time.Minute, "+n")
		names, err := w.store.Do("HKEYS", key)
		if got := fmt.Sprint(names); err != nil || got != "[n]" {
			t.Errorf("the record has %s, %v, want n", got, err)
		}
		if log := w.log.String(); !strings.Contains(log, "records=6") {
			t.Errorf("logged %q, want 6 records", log)
		}
	})
}
