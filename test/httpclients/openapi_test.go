// Package httpclients_test tests the HTTP interface as other languages use it.
package httpclients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/auth"
)

// described plays requests against the API and checks each answer by the API's own description.
type described struct {
	t     *testing.T
	url   string
	file  *openapi3.T
	token string
	seen  map[string]bool // "METHOD path status" as described
}

// operation is one that the file describes, with a request that fits.
type operation struct {
	method, path, at string // as described, and where it is asked
	body             string
	lease            bool // it takes the header
}

// ask plays a request.
func (d *described) ask(o operation, headers ...string) (int, map[string]any) {
	d.t.Helper()
	q, err := http.NewRequestWithContext(d.t.Context(), o.method, d.url+o.at, strings.NewReader(o.body))
	if err != nil {
		d.t.Fatal(err)
	}
	if o.body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	if d.token != "" {
		q.Header.Set("Authorization", "Bearer "+d.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.DefaultClient.Do(q.WithContext(ctx))
	if err != nil {
		d.t.Fatalf("%s %s: %v", o.method, o.at, err)
	}
	var text []byte
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		cancel()
	} else if text, err = io.ReadAll(r.Body); err != nil {
		d.t.Fatal(err)
	}
	_ = r.Body.Close()
	d.valid(o, q, r, text)
	d.seen[fmt.Sprint(o.method, " ", o.path, " ", r.StatusCode)] = true
	var body map[string]any
	_ = json.Unmarshal(text, &body)
	return r.StatusCode, body
}

// valid wants an answer, and a request that was answered well, to be as described.
func (d *described) valid(o operation, q *http.Request, r *http.Response, text []byte) {
	d.t.Helper()
	item := d.file.Paths.Value(o.path)
	in := &openapi3filter.RequestValidationInput{
		Request: q, PathParams: map[string]string{"name": "n"},
		Route:   &routers.Route{Spec: d.file, Path: o.path, PathItem: item, Method: o.method, Operation: item.GetOperation(o.method)},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if r.StatusCode < 300 {
		q.Body = io.NopCloser(strings.NewReader(o.body))
		if err := openapi3filter.ValidateRequest(d.t.Context(), in); err != nil {
			d.t.Errorf("%s %s is answered %d, and is not as described: %v", o.method, o.at, r.StatusCode, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: r.StatusCode, Header: r.Header, Options: in.Options}
	if err := openapi3filter.ValidateResponse(d.t.Context(), out.SetBodyBytes(text)); err != nil {
		d.t.Errorf("%s %s answers %d, which is not as described: %v\n%s", o.method, o.at, r.StatusCode, err, text)
	}
}

// The description of the HTTP API is sound, every path and status in it is exercised here, and every answer
// is as it says.
func TestOpenAPI(t *testing.T) {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	file, err := openapi3.NewLoader().LoadFromData(server.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Validate(t.Context()); err != nil {
		t.Fatalf("openapi.json: %v", err)
	}
	d := &described{t: t, file: file, seen: map[string]bool{}}
	client, stop, tokens := d.serve(server.Options{})
	d.play(client, tokens)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	d.refuse(tokens)
	d.complete()
}

// serve starts an API with a token for each role.
func (d *described) serve(options server.Options) (client *holdfast.Client, stop func() error, tokens map[auth.Role]string) {
	d.t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	client = holdfast.New(store, &holdfast.Options{Logger: slog.New(slog.DiscardHandler)})
	tokens, lines := map[auth.Role]string{}, ""
	for _, role := range []auth.Role{auth.Viewer, auth.User, auth.Admin} {
		secret, line, err := auth.NewToken(role, role.String())
		if err != nil {
			d.t.Fatal(err)
		}
		tokens[role] = secret
		lines += line + "\n"
	}
	path := filepath.Join(d.t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if options.Tokens, err = auth.OpenTokens(path, nil); err != nil {
		d.t.Fatal(err)
	}
	options.Logger = slog.New(slog.DiscardHandler)
	api, err := server.Handler(client, &options)
	if err != nil {
		d.t.Fatal(err)
	}
	s := httptest.NewServer(api)
	d.url = s.URL
	d.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = api.Close(ctx)
		s.CloseClientConnections()
		s.Close()
		_ = client.Close()
		_ = store.Close()
	})
	return client, store.Close, tokens
}

const tfInfo = `{"ID":"1","Operation":"OperationTypeApply","Info":"","Who":"ann","Version":"1.9.5","Created":"2026-11-21T20:15:30Z","Path":""}`

var (
	opList            = operation{"GET", "/v1/locks", "/v1/locks", "", false}
	opShow            = operation{"GET", "/v1/locks/{name}", "/v1/locks/n", "", false}
	opHistory         = operation{"GET", "/v1/history", "/v1/history?name=n&prefix=n&since=1h&limit=5", "", false}
	opJobs            = operation{"GET", "/v1/jobs", "/v1/jobs?prefix=n&limit=5&problems=false", "", false}
	opAcquire         = operation{"POST", "/v1/leases", "/v1/leases", `{"name":"n","ttl":"1m","wait":"0s","owner":"me"}`, false}
	opStream          = operation{"POST", "/v1/leases/stream", "/v1/leases/stream", `{"name":"n"}`, false}
	opCheck           = operation{"GET", "/v1/lease", "/v1/lease", "", true}
	opRenew           = operation{"PUT", "/v1/lease", "/v1/lease", "", true}
	opRelease         = operation{"DELETE", "/v1/lease", "/v1/lease", "", true}
	opRevoke          = operation{"POST", "/v1/revoke", "/v1/revoke", `{"name":"n","hash":"0123456789","reason":"r"}`, false}
	opSteal           = operation{"POST", "/v1/steal", "/v1/steal", `{"name":"n","hash":"0123456789","reason":"r"}`, false}
	opTerraformLock   = operation{"POST", "/v1/terraform/{name}", "/v1/terraform/tf", tfInfo, false}
	opTerraformUnlock = operation{"DELETE", "/v1/terraform/{name}", "/v1/terraform/tf", tfInfo, false}
	opDescribe        = operation{"GET", "/openapi.json", "/openapi.json", "", false}
	opHealthy         = operation{"GET", "/healthz", "/healthz", "", false}
	opReady           = operation{"GET", "/readyz", "/readyz", "", false}
	opReadyVerbose    = operation{"GET", "/readyz", "/readyz?verbose", "", false}

	operations = []operation{opList, opShow, opHistory, opJobs, opAcquire, opStream, opCheck, opRenew, opRelease, opRevoke, opSteal, opTerraformLock, opTerraformUnlock}
)

func (o operation) with(body string) operation {
	o.body = body
	return o
}

// play goes through what succeeds, and what others stand in the way of.
func (d *described) play(client *holdfast.Client, tokens map[auth.Role]string) {
	d.t.Helper()
	d.token = tokens[auth.Admin]
	hash := func() string {
		_, state := d.ask(opShow)
		holder, _ := state["holder"].(map[string]any)
		text, _ := holder["hash"].(string)
		return text
	}
	_, lease := d.ask(opAcquire, "Idempotency-Key", "k")
	text, _ := lease["lease"].(string)
	d.ask(opAcquire, "Idempotency-Key", "k")
	d.ask(opAcquire.with(`{"name":"n"}`), "Idempotency-Key", "k")
	d.ask(opAcquire)
	d.ask(opStream)
	d.ask(opList)
	d.ask(opShow)
	d.past(client)
	for _, o := range []operation{opCheck, opRenew, opRelease, opCheck, opRenew, opRelease} {
		d.ask(o, "Holdfast-Lease", text)
	}
	d.ask(opAcquire, "Idempotency-Key", "k") // 410
	d.ask(opStream)
	d.ask(opRevoke)
	d.ask(opSteal)
	_, _ = d.ask(opAcquire.with(`{"name":"n2"}`))
	d.ask(opAcquire.with(`{"name":"n","wait":"20s"}`)) // the stream has closed
	d.ask(opRevoke.with(`{"name":"n","hash":"` + hash() + `","reason":"r"}`))
	d.ask(opSteal.with(`{"name":"n","hash":"` + hash() + `","reason":"r"}`))
	d.ask(opTerraformLock)
	d.ask(opTerraformLock.with(strings.Replace(tfInfo, `"1"`, `"2"`, 1)))
	d.ask(opTerraformUnlock.with(strings.Replace(tfInfo, `"1"`, `"2"`, 1)))
	d.ask(opTerraformUnlock)
	for _, o := range []operation{opCheck, opRenew, opRelease} {
		d.ask(o, "Holdfast-Lease", "holdfast1-AAAA") // 400
	}
	d.ask(operation{"GET", opList.path, "/v1/locks?limit=x", "", false})
	d.ask(operation{"GET", opShow.path, "/v1/locks/a%7Bb", "", false})
	d.ask(opTerraformLock.with("no JSON"))
	d.ask(opTerraformUnlock.with("no JSON"))
	permit, err := client.Semaphore("sem", 2).Acquire(d.t.Context(), 1)
	if err != nil {
		d.t.Fatal(err)
	}
	ofAnotherKind := opTerraformLock
	ofAnotherKind.at = "/v1/terraform/sem"
	d.ask(ofAnotherKind)
	if err := permit.Release(); err != nil {
		d.t.Error(err)
	}
	for _, o := range []operation{opDescribe, opHealthy, opReady, opReadyVerbose} {
		d.ask(o)
	}
}

// past goes through what the journal knows.
func (d *described) past(client *holdfast.Client) {
	d.t.Helper()
	writer := journal.NewWriter(client.Store(), &journal.Options{Owner: "test"})
	for _, e := range []journal.Entry{{Event: journal.Granted, Token: 7}, {Event: journal.Started}, {Event: journal.Ended, Code: 3}, {Event: journal.Released, Token: 7}} {
		e.Name, e.Owner = "n", "test"
		writer.Note(e)
	}
	if err := writer.Close(); err != nil {
		d.t.Error(err)
	}
	_, history := d.ask(opHistory)
	_, jobs := d.ask(opJobs)
	for field, body := range map[string]map[string]any{"entries": history, "jobs": jobs} {
		if list, _ := body[field].([]any); len(list) == 0 {
			d.t.Errorf("%s: got %v, want some", field, body)
		}
	}
	for _, path := range []string{opHistory.path, opJobs.path} {
		d.ask(operation{"GET", path, path + "?limit=x", "", false})
	}
}

// refuse goes through what is refused, when the store is gone.
func (d *described) refuse(tokens map[auth.Role]string) {
	d.t.Helper()
	lease := "holdfast1-AAAA"
	for _, o := range operations {
		headers := []string{}
		if o.lease {
			headers = []string{"Holdfast-Lease", lease}
		}
		d.token = ""
		d.ask(o, headers...) // 401
		d.token = tokens[auth.Viewer]
		d.ask(o, headers...) // 403, or 503
		d.token = tokens[auth.Admin]
		if o.body == "" {
			d.ask(o, headers...) // 503
			continue
		}
		d.ask(o.with(`{"ID": 7, "unknown":`))                           // 400
		d.ask(o.with(`{"name":"` + strings.Repeat("n", 20_000) + `"}`)) // 413
		d.ask(o, "Content-Type", "text/plain")                          // 415
		d.ask(o)                                                        // 503
	}
	d.token = tokens[auth.Viewer]
	d.ask(opList) // 503: what it remembered is too old, or not asked for
	d.ask(opReady)
	d.ask(opReadyVerbose)
	d.token = ""
	d.ask(opReadyVerbose)
}

// complete wants every path and status of the file to have been seen.
func (d *described) complete() {
	d.t.Helper()
	var file struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(server.OpenAPI(), &file); err != nil {
		d.t.Fatal(err)
	}
	for path, methods := range file.Paths {
		for method, raw := range methods {
			var op struct {
				Responses map[string]json.RawMessage `json:"responses"`
			}
			if method == "parameters" || method == "description" || json.Unmarshal(raw, &op) != nil {
				continue
			}
			for status := range op.Responses {
				if what := fmt.Sprint(strings.ToUpper(method), " ", path, " ", status); !d.seen[what] {
					d.t.Errorf("%s is described, and was not seen", what)
				}
			}
		}
	}
}
