package server

import (
	_ "embed"
	"io"
	"net/http"
	"strconv"
	"time"
)

//go:embed openapi.json
var openAPI []byte

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI)
}

// OpenAPI returns the description of the API in OpenAPI 3.1, as JSON.
func OpenAPI() []byte { return append([]byte(nil), openAPI...) }

// health tells that the process works; the store is another question.
func (a *API) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// readiness is the answer of /readyz?verbose.
type readiness struct {
	Ready    bool    `json:"ready"`
	Store    string  `json:"store"`         // ok, or why not
	TripMS   float64 `json:"round_trip_ms"` // of one question to the store
	Requests int     `json:"requests"`      // that are worked on
	Streams  int64   `json:"streams"`       // leases bound to one, and who waits for one
	Closing  bool    `json:"closing"`
}

// ready reports whether requests should be sent here: 200, or 503 while the store does
// not answer or the server is shutting down.
func (a *API) ready(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	why := a.store.known()
	if why == nil {
		why = a.store.probe(r.Context())
	}
	v := readiness{
		Ready: why == nil && !a.closed(), Store: "ok", TripMS: float64(time.Since(began).Microseconds()) / 1000,
		Requests: a.busy.size() + a.waiting.size(), Streams: a.streams.Load(), Closing: a.closed(),
	}
	if why != nil {
		v.Store, v.TripMS = why.detail, 0
	}
	status := http.StatusOK
	if !v.Ready {
		status = http.StatusServiceUnavailable
	}
	if !isVerbose(r) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, map[bool]string{true: "ok\n", false: "not ready\n"}[v.Ready])
		return
	}
	if _, refused := a.admit(w, r, Viewer); refused != nil { // it tells of the store
		refused.write(w)
		return
	}
	answer(w, status, v)
}

func isVerbose(r *http.Request) bool {
	values, ok := r.URL.Query()["verbose"]
	if !ok {
		return false
	}
	off, err := strconv.ParseBool(values[0])
	return err != nil || off
}
