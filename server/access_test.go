package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/auth"
)

// tokens makes a file with a token for each role.
func tokens(t *testing.T) (file string, of map[auth.Role]string) {
	t.Helper()
	of = map[auth.Role]string{}
	lines := []string{"# who may do what", ""}
	for _, role := range []auth.Role{auth.Viewer, auth.User, auth.Admin} {
		secret, line, err := auth.NewToken(role, "team of "+role.String())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, secret) {
			t.Errorf("the line has the token itself: %s", line)
		}
		of[role] = secret
		lines = append(lines, line)
	}
	file = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, of
}

// Each role may what it may, and nobody else anything.
func TestRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, of := tokens(t)
		list, err := auth.OpenTokens(file, quietLog())
		if err != nil {
			t.Fatal(err)
		}
		of[-1] = "hf_wrong"
		w := start(t, &server.Options{Tokens: list})
		order := m{"name": "n", "hash": "0123456789", "reason": "r"}
		for _, test := range []struct {
			method, path string
			body         any
			least        auth.Role
		}{
			{"GET", "/healthz", nil, auth.Anonymous}, {"GET", "/readyz", nil, auth.Anonymous}, {"GET", "/openapi.json", nil, auth.Anonymous},
			{"GET", "/v1/locks", nil, auth.Viewer}, {"GET", "/v1/locks/n", nil, auth.Viewer}, {"GET", "/v1/jobs", nil, auth.Viewer}, {"GET", "/v1/history", nil, auth.Viewer}, {"GET", "/readyz?verbose", nil, auth.Viewer},
			{"POST", "/v1/leases", m{"name": "n"}, auth.User}, {"POST", "/v1/leases/stream", m{}, auth.User}, {"GET", "/v1/lease", nil, auth.User},
			{"PUT", "/v1/lease", nil, auth.User}, {"DELETE", "/v1/lease", nil, auth.User}, {"LOCK", "/v1/terraform/tf", m{"ID": "1"}, auth.User},
			{"UNLOCK", "/v1/terraform/tf", m{"ID": "1"}, auth.User}, {"UNLOCK", "/v1/terraform/tf", nil, auth.Admin},
			{"POST", "/v1/revoke", order, auth.Admin}, {"POST", "/v1/steal", order, auth.Admin},
		} {
			for role := auth.Role(-1); role <= auth.Admin; role++ { // a lock of Terraform is the user's, so that it can unlock it
				w.token = of[role]
				got := w.ask(test.method, test.path, test.body)
				switch refused := got.status == http.StatusUnauthorized || got.status == http.StatusForbidden; {
				case refused != (role < test.least && test.least > auth.Anonymous):
					t.Errorf("%s %s as %v: %d %s", test.method, test.path, role, got.status, got.text)
				case refused && (got.status == http.StatusUnauthorized) != (role <= auth.Anonymous):
					t.Errorf("%s %s as %v: %d; want 401 without a token, 403 with one", test.method, test.path, role, got.status)
				case got.status == http.StatusUnauthorized && !strings.Contains(got.header.Get("WWW-Authenticate"), "Bearer"):
					t.Errorf("401 without WWW-Authenticate: %v", got.header)
				}
			}
		}
		w.token = ""
		q, _ := http.NewRequest("GET", "/", nil)
		q.SetBasicAuth("terraform", of[auth.User])
		w.want("Basic", w.ask("LOCK", "/v1/terraform/basic", m{"ID": "1"}, "Authorization", q.Header.Get("Authorization")), http.StatusOK, "")
		w.want("by another name", w.ask("GET", "/v1/locks", nil, "Host", "evil.example", "Authorization", "Bearer "+of[auth.Viewer]), http.StatusOK, "")
		w.token = of[auth.User]
		if got := w.acquire(m{"name": "whose"}); !strings.HasPrefix(got.str("owner"), "team of user@") {
			t.Errorf("an owner that is not given: %s", got.text)
		}
	})
}

// Without tokens no web page gets in: not from another site, nor by a name that
// it gave our address.
func TestNoPageGetsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &server.Options{Hosts: []string{"locks.internal"}})
		w.want("rebound", w.ask("GET", "/v1/locks", nil, "Host", "evil.example:7420"), http.StatusMisdirectedRequest, "host")
		for _, host := range []string{"localhost", "LOCALHOST:1", "[::1]:7420", "10.0.0.1", "locks.internal:80"} {
			w.want(host, w.ask("GET", "/v1/locks", nil, "Host", host), http.StatusOK, "")
		}
		wish := m{"name": "n"}
		w.want("another site", w.ask("POST", "/v1/leases", wish, "Sec-Fetch-Site", "cross-site"), http.StatusForbidden, "cross-origin")
		w.want("another origin", w.ask("POST", "/v1/leases", wish, "Origin", "https://evil.example"), http.StatusForbidden, "cross-origin")
		w.want("LOCK from another site", w.ask("LOCK", "/v1/terraform/n", m{"ID": "1"}, "Sec-Fetch-Site", "cross-site"), http.StatusForbidden, "cross-origin")
		w.want("a GET from another site", w.ask("GET", "/v1/locks", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"), http.StatusForbidden, "cross-origin")
		w.want("a frame in another site", w.ask("GET", "/v1/locks", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"), http.StatusForbidden, "cross-origin")
		w.want("another port", w.ask("GET", "/v1/locks", nil, "Sec-Fetch-Site", "same-site"), http.StatusForbidden, "cross-origin")
		w.want("a form of another site", w.ask("POST", "/v1/leases", wish, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), http.StatusForbidden, "cross-origin")
		w.want("a link", w.ask("GET", "/v1/locks", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), http.StatusOK, "")
		w.want("our own page", w.ask("POST", "/v1/leases", wish, "Sec-Fetch-Site", "same-origin"), http.StatusCreated, "")
	})
}

// Read-only shows and changes nothing.
func TestReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, &server.Options{ReadOnly: true})
		w.want("show", w.ask("GET", "/v1/locks/n", nil), http.StatusOK, "")
		for method, path := range map[string]string{"POST": "/v1/leases", "PUT": "/v1/lease", "DELETE": "/v1/lease", "LOCK": "/v1/terraform/n", "UNLOCK": "/v1/terraform/n"} {
			w.want(path, w.ask(method, path, m{"name": "n"}), http.StatusForbidden, "read-only")
		}
		for _, path := range []string{"/v1/leases/stream", "/v1/revoke", "/v1/steal"} {
			w.want(path, w.ask("POST", path, m{"name": "n"}), http.StatusForbidden, "read-only")
		}
	})
}

// Pages get what is not the API's, by its whole path and with who asks.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(r.URL.Path + " " + auth.PrincipalOf(r).Role.String()))
		})
		w := start(t, &server.Options{Pages: pages, Metrics: pages, BasePath: "/locks"})
		for path, want := range map[string]string{"": "/locks/ admin", "/": "/locks/ admin", "/a/b": "/locks/a/b admin", "/metrics": "/metrics admin"} {
			if got := w.ask("GET", path, nil); got.text != want {
				t.Errorf("%s: got %d %q, want %q", path, got.status, got.text, want)
			}
		}
		if got := w.acquire(m{"name": "n"}); got.header.Get("Location") != "/locks/v1/locks/n" {
			t.Errorf("Location: %v", got.header)
		}
		w.want("the API's own", w.ask("GET", "/v1/nothing", nil), http.StatusNotFound, "not-found")
		w.url = strings.TrimSuffix(w.url, "/locks")
		w.want("beside the base path", w.ask("GET", "/v1/locks", nil), http.StatusNotFound, "not-found")
	})
}
