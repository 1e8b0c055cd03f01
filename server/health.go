package server

import (
	_ "embed"
	"io"
	"net/http"
	"strconv"

	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

//go:embed openapi.json
var openAPI []byte

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI)
	return nil
}

// OpenAPI returns the description of the API in OpenAPI 3.1, as JSON.
func OpenAPI() []byte { return append([]byte(nil), openAPI...) }

// health reports that the process works; the store is another question.
func health(w http.ResponseWriter, _ *http.Request) error {
	return plain(w, http.StatusOK, "ok\n")
}

func plain(w http.ResponseWriter, status int, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
	return nil
}

// readiness is the answer of /readyz?verbose.
type readiness struct {
	Ready    bool    `json:"ready"`
	Store    string  `json:"store"`         // ok, or why not
	TripMS   float64 `json:"round_trip_ms"` // of one question to the store
	Requests int     `json:"requests"`      // that are worked on
	Streams  int64   `json:"streams"`       // leases bound to one, and requests that wait for one
	Closing  bool    `json:"closing"`
	Tokens   string  `json:"tokens,omitempty"` // ok, or what is wrong with their file; empty: there are none

	Certificate string `json:"certificate,omitempty"` // ok, or why its files are not used; empty: there is none
}

// ready reports whether requests should be sent here: 200, or 503 while the store does
// not answer or the server is shutting down.
func ready(a *API) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if isVerbose(r) {
			if err := a.admit(w, r, auth.Viewer); err != nil { // the answer is about the store
				return err
			}
		}
		trip, why := a.store.Ready(r.Context())
		v := readiness{
			Ready: why == nil && a.life.Err() == nil, Store: "ok", TripMS: float64(trip.Microseconds()) / 1000,
			Requests: a.busy.Size() + a.waiting.Size(), Streams: a.streams.Count(), Closing: a.life.Err() != nil,
		}
		if why != nil {
			v.Store = why.Error()
		}
		v.checkTokens(a.options.Tokens)
		v.checkCertificate(a.options.Certificate)
		status, text := http.StatusOK, "ok\n"
		if !v.Ready {
			status, text = http.StatusServiceUnavailable, "not ready\n"
		}
		if !isVerbose(r) {
			return plain(w, status, text)
		}
		return reply.JSON(w, status, v)
	}
}

// checkTokens adds the state of the tokens. A server that refuses all tokens is not ready.
func (v *readiness) checkTokens(tokens *auth.Tokens) {
	if tokens == nil {
		return
	}
	valid, wrong := tokens.Check()
	v.Ready, v.Tokens = v.Ready && valid > 0, "ok"
	if wrong != nil {
		v.Tokens = wrong.Error()
	}
}

// checkCertificate adds the state of the certificate. With the previous one the server is ready.
func (v *readiness) checkCertificate(c *Certificate) {
	if c == nil {
		return
	}
	v.Certificate = "ok"
	if wrong := c.Check(); wrong != nil {
		v.Certificate = wrong.Error()
	}
}

func isVerbose(r *http.Request) bool {
	values, ok := r.URL.Query()["verbose"]
	if !ok {
		return false
	}
	off, err := strconv.ParseBool(values[0])
	return err != nil || off
}
