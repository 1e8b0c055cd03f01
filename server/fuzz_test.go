package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/auth"
)

// reads are the scripts that change nothing.
var reads = []string{"inspect", "shared_inspect", "details_inspect", "once_inspect", "job_list", "journal_read", "journal_sums", "check"}

// recorder is a store that notes the scripts that change something.
type recorder struct {
	driver.Store
	mu     sync.Mutex // protects the rest
	writes []string
}

func (s *recorder) note(call driver.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(reads, call.Script.Name) {
		s.writes = append(s.writes, call.Script.Name)
	}
}

func (s *recorder) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

func (s *recorder) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	s.note(call)
	return s.Store.Eval(ctx, call)
}

func (s *recorder) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	for _, call := range calls {
		s.note(call)
	}
	return s.Store.EvalAll(ctx, calls)
}

func (s *recorder) EvalWait(ctx context.Context, calls []driver.Call, replicas int, wait time.Duration) ([]driver.Result, int, error) {
	for _, call := range calls {
		s.note(call)
	}
	return s.Store.EvalWait(ctx, calls, replicas, wait)
}

// victim is an API whose names are held, and a token of each role.
type victim struct {
	store *recorder
	api   *server.API
	of    map[auth.Role]string
	lease string // the text of a lease
	hash  string // of the tenure of the name n
}

// newVictim makes one. Another client has taken the names, so that the API's own client has written
// nothing.
func newVictim(t *testing.T, list *auth.Tokens, of map[auth.Role]string) *victim {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	other := newClient(t, store)
	v := &victim{store: &recorder{Store: store}, of: of}
	options := &server.Options{Tokens: list, MaxTTL: time.Minute, MaxWait: 10 * time.Millisecond, MaxStream: 10 * time.Millisecond, Grace: time.Millisecond, Logger: quietLog()}
	if v.api, err = server.Handler(newClient(t, v.store), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.api.Close(context.Background()) })
	for _, name := range []string{"n", "tf"} {
		m := other.Mutex(name)
		m.Owner = "terraform/id-1 ann"
		lease, err := m.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.lease, err = lease.Export(); err != nil {
			t.Fatal(err)
		}
		var hold *holdfast.ExportedHold
		if hold, err = other.CheckExported(t.Context(), v.lease); err != nil {
			t.Fatal(err)
		}
		v.hash = hold.Hash
	}
	if _, err := other.Semaphore("sem", 4).Acquire(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	return v
}

// send sends a request as a role, and checks what every answer must be.
func (v *victim) send(t *testing.T, role auth.Role, raw string) {
	t.Helper()
	raw = strings.NewReplacer("$LEASE", v.lease, "$HASH", v.hash).Replace(raw)
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		t.Skip("no HTTP")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // then the client goes
	defer cancel()
	r = r.WithContext(ctx)
	r.RemoteAddr = "192.0.2.1:1234"
	if r.Header.Del("Authorization"); v.of[role] != "" {
		r.Header.Set("Authorization", "Bearer "+v.of[role])
	}
	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		v.api.ServeHTTP(w, r)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("as %v: no answer within %v of\n%s", role, patience, raw)
	}
	if err := proper(r, w.Result()); err != nil {
		t.Errorf("as %v: %v of\n%s", role, err, raw)
	}
}

// proper finds what no answer may be: an error of ours, or one that is no problem.
func proper(r *http.Request, got *http.Response) error {
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	media, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	var problem struct {
		Status             int
		Type, Code, Detail string
	}
	switch {
	case err != nil:
		return err
	case got.StatusCode < 400 || got.StatusCode == http.StatusLocked || strings.HasPrefix(r.URL.Path, "/readyz"):
		return nil
	case got.StatusCode == http.StatusInternalServerError || got.StatusCode == http.StatusBadGateway:
		return fmt.Errorf("status %d %s", got.StatusCode, text)
	case r.Method == http.MethodHead:
		return nil
	case media != "application/problem+json" || json.Unmarshal(text, &problem) != nil || problem.Status != got.StatusCode || problem.Type == "" || problem.Code == "" || problem.Detail == "":
		return fmt.Errorf("status %d with %q, which is no problem: %q", got.StatusCode, media, text)
	}
	return nil
}

// FuzzAPI sends any request with the token of each role. No answer is an error of the server, each
// error is a problem, and a viewer and a client without a token change nothing. $LEASE and $HASH
// stand for a lease and its hash.
func FuzzAPI(f *testing.F) {
	const media = "Content-Type: application/json\r\n"
	for _, seed := range [][4]string{
		{"GET", "/v1/locks?limit=2&all=true&prefix=n", "", ""}, {"GET", "/v1/locks?problems=x", "", ""}, {"GET", "/v1/locks/n", "", ""}, {"GET", "/v1/locks/sem", "", ""}, {"GET", "/v1/locks/a%2F%2Fb", "", ""},
		{"GET", "/v1/locks/%ff%00%0a", "", ""}, {"GET", "/v1/jobs?problems=true", "", ""}, {"GET", "/v1/history?since=24h&name=n", "", ""}, {"GET", "/v1/history?limit=;", "", ""},
		{"POST", "/v1/leases", media, `{"name": "m", "ttl": "1s", "wait": "1ms", "owner": "me"}`}, {"POST", "/v1/leases", media + "Idempotency-Key: k\r\n", `{"name": "s", "of": 4, "permits": 2}`},
		{"POST", "/v1/leases", media, `{"name": "n", "shared": true}`}, {"POST", "/v1/leases", media, `{"name": "w", "exclusive": true}`}, {"POST", "/v1/leases", media, `[{}]`},
		{"POST", "/v1/leases/stream", media, `{"name": "m"}`}, {"POST", "/v1/leases/stream", media, `{"name": "n", "wait": "5ms"}`},
		{"GET", "/v1/lease", "Holdfast-Lease: $LEASE\r\n", ""}, {"PUT", "/v1/lease", "Holdfast-Lease: $LEASE\r\n", ""}, {"DELETE", "/v1/lease", "Holdfast-Lease: $LEASE\r\n", ""},
		{"PUT", "/v1/lease", "Holdfast-Lease: holdfast1-AAAA\r\n", ""}, {"POST", "/v1/revoke", media, `{"name": "n", "hash": "$HASH", "reason": "r"}`}, {"POST", "/v1/steal", media, `{"name": "n", "hash": "$HASH", "reason": "r"}`},
		{"LOCK", "/v1/terraform/new", "", `{"ID": "id-2", "Who": "bob"}`}, {"LOCK", "/v1/terraform/tf", "", `{"ID": "id-1"}`}, {"UNLOCK", "/v1/terraform/tf", "", `{"ID": "id-1"}`}, {"UNLOCK", "/v1/terraform/tf", "", ""},
		{"DELETE", "/v1/terraform/tf", "", `{"ID": "id-1", "Created": 1}`}, {"GET", "/readyz?verbose", "", ""}, {"HEAD", "/healthz", "", ""}, {"GET", "/openapi.json", "", ""}, {"GET", "/metrics", "", ""},
		{"PATCH", "/v1/lease", "", ""}, {"OPTIONS", "*", "", ""}, {"CONNECT", "example.com:443", "", ""}, {"CONNECT", "/v1/locks", "", ""}, {"GET", "http://evil.example/v1/locks", "", ""}, {"GET", "//v1/../v1//locks/", "", ""}, {"GET", "/", "", ""},
		{"POST", "/v1/leases", media + "Transfer-Encoding: chunked\r\n", "zz"}, {"POST", "/v1/leases", media + "Origin: https://evil.example\r\n", `{"name": "m"}`}, {"POST", "/v1/leases", media + "Sec-Fetch-Site: cross-site\r\n", `{"name": "m"}`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	of, lines := map[auth.Role]string{}, ""
	for _, role := range []auth.Role{auth.Viewer, auth.User, auth.Admin} {
		secret, line, err := auth.NewToken(role, role.String())
		if err != nil {
			f.Fatal(err)
		}
		of[role], lines = secret, lines+line+"\n"
	}
	file := filepath.Join(f.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		f.Fatal(err)
	}
	list, err := auth.OpenTokens(file, quietLog())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, target, headers, body string) {
		if !strings.Contains(headers, "Transfer-Encoding") {
			headers += fmt.Sprintf("Content-Length: %d\r\n", len(strings.NewReplacer("$HASH", "0123456789").Replace(body)))
		}
		raw := method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n" + body
		v := newVictim(t, list, of)
		for _, role := range []auth.Role{auth.Anonymous, auth.Viewer, auth.User, auth.Admin} {
			v.send(t, role, raw)
			if written := v.store.written(); role < auth.User && len(written) > 0 {
				t.Fatalf("as %v: the scripts %v ran because of\n%s", role, written, raw)
			}
		}
	})
}
