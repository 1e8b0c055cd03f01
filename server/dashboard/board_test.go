package dashboard_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// patience is for what happens soon, on a busy machine too.
const patience = 30 * time.Second

// locker is a client of one master or of a quorum.
type locker interface {
	Mutex(name string) *holdfast.Mutex
	Election(name string) *holdfast.Election
}

// board is a dashboard on an embedded store, and what puts locks there. Its test runs
// in a bubble of testing/synctest, so that no wait takes time.
type board struct {
	t       *testing.T
	store   *embedded.Store
	client  locker       // whose locks the dashboard shows
	names   admin.Reader // of them
	http    *http.Client
	host    string // and scheme
	handler http.Handler
	base    string
}

func newStore(t *testing.T) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = store.Close()
		time.Sleep(2 * time.Minute) // by then it polls no more
	})
	return store
}

func open(t *testing.T, options *dashboard.Options) *board {
	t.Helper()
	return on(t, newStore(t), options)
}

func on(t *testing.T, store *embedded.Store, options *dashboard.Options) *board {
	t.Helper()
	b := &board{t: t, store: store, client: newClient(t, store, "alice"), names: admin.New(store, nil)}
	b.serve(admin.Of(newClient(t, store, "dashboard")), options)
	if options != nil {
		b.base = options.BasePath
	}
	return b
}

// serve makes the dashboard of names.
func (b *board) serve(names admin.Reader, options *dashboard.Options) {
	b.handler = dashboard.Handler(names, options)
	b.http, b.host = &http.Client{Transport: direct{b.handler}}, "http://localhost"
}

// direct answers requests without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	got := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), r.Body)
	got.Header = r.Header
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, got)
	return answer.Result(), nil
}

func newClient(t *testing.T, store driver.Store, owner string) *holdfast.Client {
	t.Helper()
	client := holdfast.New(store, &holdfast.Options{Owner: owner, TTL: 30 * time.Second})
	t.Cleanup(func() { client.Close() })
	return client
}

// hold locks a name until the test ends.
func (b *board) hold(name string) *holdfast.Lease {
	b.t.Helper()
	lease, err := b.client.Mutex(name).Lock(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = lease.Release() })
	return lease
}

// wait stands in line for a name until the test ends.
func (b *board) wait(name, owner string) {
	b.t.Helper()
	client := newClient(b.t, b.store, owner)
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if lease, err := client.Mutex(name).Lock(ctx); err == nil {
			_ = lease.Release()
		}
	}()
	b.t.Cleanup(func() { cancel(); <-done })
	for ctx.Err() == nil {
		if s, err := b.names.Inspect(ctx, name); err == nil && s.Waiting > 0 {
			return
		}
	}
}

func (b *board) url(path string) string { return b.host + b.base + path }

// get fetches a page as a browser without JavaScript would.
func (b *board) get(path string) (status int, header http.Header, body string) {
	b.t.Helper()
	answer, err := b.http.Get(b.url(path))
	if err != nil {
		b.t.Fatal(err)
	}
	return read(b.t, answer)
}

func read(t *testing.T, answer *http.Response) (int, http.Header, string) {
	t.Helper()
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(body)
}

// shows asks for a page until it contains all of want.
func (b *board) shows(path string, want ...string) string {
	b.t.Helper()
	var status int
	var body string
	for until := time.Now().Add(patience); time.Now().Before(until); {
		status, _, body = b.get(path)
		missing := false
		for _, w := range want {
			missing = missing || !strings.Contains(body, w)
		}
		if !missing && status == http.StatusOK {
			return body
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("GET %s: got %d and\n%s\nwant all of %q", path, status, body, want)
	return ""
}
