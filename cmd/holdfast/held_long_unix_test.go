//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// A hold is long after what its command expects, or three times what is usual by the
// journal, or an hour. ls, show, top, serve and the metrics say the same, and an election
// is never held long.
func TestHeldLong(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	usuallyHeld(t, server.url(), map[string]time.Duration{"slow": 2 * time.Hour, "quick": time.Second, "nightly": 40 * time.Minute})
	for _, h := range []struct {
		command string // before the name
		name    string
		held    time.Duration
	}{
		{"run", "nightly", 50 * time.Minute},                        // as usual
		{"run", "new", 50 * time.Minute},                            // not an hour
		{"run", "hangs", 61 * time.Minute},                          // more than an hour
		{"run", "quick", 30 * time.Second},                          // more than usual, and than the ttl
		{"run", "slow", 5 * time.Hour},                              // usual
		{"run --expect 5h", "import", 4 * time.Hour},                // expected
		{"run --expect 2h --details none", "export", 3 * time.Hour}, // not expected
		{"run --expect 1ms", "brief", 10 * time.Second},             // not expected, before the ttl has passed
		{"elect", "boss", 100 * time.Hour},
		{"acquire --ttl 3h", "lease", 2 * time.Hour}, // an hour, or its ttl
		{"acquire --expect 5h", "script", 2 * time.Hour},
	} {
		r := newRun(t, server.url(), "")
		r.Args = append(r.Args[:1], strings.Fields(h.command)...)
		r.Args = append(r.Args, "--redis", server.url(), h.name)
		if !strings.HasPrefix(h.command, "acquire") {
			r.Args = append(r.Args, "--", "sleep", "600")
		}
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, h.name+" is held", func() bool { return strings.Contains(server.do(t, "GET", "holdfast:"+h.name), "|") })
		began := time.Now().Add(-h.held).UnixMicro()
		server.do(t, "SET", "holdfast/fence:{holdfast:"+h.name+"}", fmt.Sprint(2*began), "KEEPTTL")
	}
	until(t, "boss is elected", func() bool { return strings.Contains(server.do(t, "GET", "holdfast/term:{holdfast:boss}"), "|") })

	const want = "brief export hangs quick"
	if got := heldLong(t, []byte(wantShown(t, 0, "", "ls", "-q", "-o", "json", "--redis", server.url()))); got != want {
		t.Errorf("ls: held long are %q, want %q", got, want)
	}
	table := wantShown(t, 0, "", "top", "--once", "--redis", server.url())
	for name, why := range map[string]string{
		"brief": "longer than expected (1ms)", "export": "longer than expected (2h00m)", "hangs": "more than an hour", "quick": "times as long as usual (1s)",
	} {
		wantShown(t, 0, "held-long: held by ", "show", name, "--redis", server.url())
		wantShown(t, 0, why, "show", name, "--redis", server.url())
		if !strings.Contains(table, why) {
			t.Errorf("top does not say %q:\n%s", why, table)
		}
	}
	wantShown(t, 0, `"expect_ms": 18000000`, "show", "import", "-o", "json", "--redis", server.url())

	if text := wantShown(t, 0, "too long", "jobs", "--redis", server.url()); strings.Count(text, "too long") != 1 {
		t.Errorf("jobs: not only brief runs too long:\n%s", text)
	}

	all := startServe(t, server.url())
	for _, path := range []string{"/v1/locks", "/v1/locks?problems=true"} {
		if got := heldLong(t, get(t, all.url+path)); got != want {
			t.Errorf("%s: held long are %q, want %q", path, got, want)
		}
	}
	if page := string(get(t, all.url+"/problems")); strings.Count(page, "held-long") < 4 || strings.Contains(page, "boss") {
		t.Errorf("the page Problems has not four names that are held long:\n%s", page)
	}
	wantHeldLong(t, all.url, 4)
	some := startServe(t, server.url(), "--no-alert", "ha*s", "--no-alert", "[a-f]xport")
	wantHeldLong(t, some.url, 2)
}

// usuallyHeld writes three holds of each name to the journal.
func usuallyHeld(t *testing.T, url string, names map[string]time.Duration) {
	t.Helper()
	store, err := rueidisstore.Open(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := journal.NewWriter(store, nil)
	for name, held := range names {
		for token := range int64(3) {
			w.Note(journal.Entry{Event: journal.Released, Name: name, Token: token + 1, Held: held})
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// heldLong returns the names that are held long by an answer of ls or GET /v1/locks.
func heldLong(t *testing.T, answer []byte) string {
	t.Helper()
	page := struct {
		Locks []struct {
			Name    string
			Reasons []struct{ Code diagnose.Code }
		}
	}{}
	err := json.Unmarshal(answer, &page.Locks)
	if bytes.HasPrefix(answer, []byte("{")) {
		err = json.Unmarshal(answer, &page)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	var names []string
	for _, lock := range page.Locks {
		for _, reason := range lock.Reasons {
			if reason.Code == diagnose.HeldLong {
				names = append(names, lock.Name)
			}
		}
	}
	return strings.Join(names, " ")
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// wantHeldLong waits until /metrics counts this many names that are held long.
func wantHeldLong(t *testing.T, url string, names int) {
	t.Helper()
	want := fmt.Sprintf("\nholdfast_inventory_diagnosed{code=\"held-long\",problem=\"true\"} %d\n", names)
	until(t, "/metrics has"+want, func() bool { return strings.Contains(string(get(t, url+"/metrics")), want) })
}
