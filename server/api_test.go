package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/server"
)

// patience bounds what must happen soon.
const patience = 30 * time.Second

// web is an API on a store of its own, and a client of it. Its test runs in a bubble
// of testing/synctest, so that no wait takes time.
type web struct {
	t      *testing.T
	store  *embedded.Store
	client *holdfast.Client // of the API
	api    *server.API
	http   *http.Client
	url    string
	token  string // sent with each request
}

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

func openStore(t *testing.T) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func newClient(t *testing.T, store driver.Store) *holdfast.Client {
	client := holdfast.New(store, &holdfast.Options{Owner: "api", Logger: quietLog()})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func start(t *testing.T, options *server.Options) *web {
	t.Helper()
	store := openStore(t)
	w := serveOn(t, newClient(t, store), options)
	w.store = store
	return w
}

// serveOn is an API of a Client.
func serveOn(t *testing.T, client *holdfast.Client, options *server.Options) *web {
	t.Helper()
	if options == nil {
		options = &server.Options{}
	}
	options.Logger = quietLog()
	api, err := server.Handler(client, options)
	if err != nil {
		t.Fatal(err)
	}
	l := listen()
	s, browser := &httptest.Server{Listener: l, Config: server.NewServer(api)}, l.client()
	s.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = api.Close(ctx)
		browser.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	return &web{t: t, client: client, api: api, http: browser, url: s.URL + options.BasePath}
}

// reply is what was answered.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (r reply) str(field string) string { s, _ := r.body[field].(string); return s }
func (r reply) num(field string) int64  { n, _ := r.body[field].(float64); return int64(n) }

// ask sends a request; body may be nil, text, or what JSON is made of.
func (w *web) ask(method, path string, body any, headers ...string) reply {
	w.t.Helper()
	r, err := w.send(w.t.Context(), method, path, body, headers...)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	out := reply{r.StatusCode, r.Header, string(text), nil}
	_ = json.Unmarshal(text, &out.body)
	if path == "/openapi.json" {
		out.text = "the description"
	}
	if r.StatusCode >= 400 && r.StatusCode != http.StatusLocked && path != "/readyz" && out.header.Get("Content-Type") != "application/problem+json" && path != "/readyz?verbose" {
		w.t.Errorf("%s %s: %d with %s: want a problem", method, path, r.StatusCode, out.header.Get("Content-Type"))
	}
	return out
}

func (w *web) send(ctx context.Context, method, path string, body any, headers ...string) (*http.Response, error) {
	var data []byte
	switch v := body.(type) {
	case nil:
	case string:
		data = []byte(v)
	default:
		data, _ = json.Marshal(v)
	}
	q, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if w.token != "" {
		q.Header.Set("Authorization", "Bearer "+w.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if q.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			q.Host = headers[i+1]
		}
	}
	return w.http.Do(q)
}

// want fails the test unless the status, and the code of a problem, are these.
func (w *web) want(what string, got reply, status int, code string) reply {
	w.t.Helper()
	if got.status != status || got.str("code") != code {
		w.t.Fatalf("%s: got %d %s; want %d %s", what, got.status, got.text, status, code)
	}
	return got
}

type m map[string]any

func (v m) with(more m) m {
	out := maps.Clone(v)
	maps.Copy(out, more)
	return out
}

// acquire takes a name and wants it.
func (w *web) acquire(wish m) reply {
	w.t.Helper()
	return w.want("POST /v1/leases", w.ask("POST", "/v1/leases", wish), http.StatusCreated, "")
}

// soon waits until f is true.
func soon(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// free reports whether nobody has a name.
func (w *web) free(name string) bool {
	w.t.Helper()
	return w.ask("GET", "/v1/locks/"+name, nil).str("state") == "free"
}
