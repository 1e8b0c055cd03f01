package fence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast"
)

// Header is the header field that carries a token, in decimal.
const Header = "Fence-Token"

// SetHeader gives a request the token of the lease under which it is made.
func SetHeader(r *http.Request, lease *holdfast.Lease) {
	r.Header.Set(Header, strconv.FormatInt(lease.Token(), 10))
}

// Handler lets requests with a token into Next as Gate.Enter does: while one with
// an older token is served a newer one waits, and older ones are refused. What goes
// on after Next has returned is not covered. It protects what this process alone
// writes to; see Gate. It believes what it is told: whoever can send a token that is
// too high keeps all others out, so it belongs behind what knows who is asking. It
// asks nobody.
//
// It answers with application/problem+json: 412 to a stale token, with the members
// token and newest; 428 to a request without one where that is Required; 400 to a
// token that is no positive number below 2^53, as no lease has one; 503 if the
// request ended while it waited.
type Handler struct {
	Gate *Gate // must be set; may be shared with other handlers of the same resources
	Next http.Handler

	// Resource says which resource a request is about. Default: its path. It must
	// be one for all requests that change the same thing.
	Resource func(*http.Request) string

	// Required refuses requests without a token, but for GET, HEAD and OPTIONS.
	// Without it they pass unchecked.
	Required bool
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	values := r.Header.Values(Header)
	if len(values) == 0 {
		if h.Required && r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
			problem{Status: http.StatusPreconditionRequired, Detail: "the header " + Header + " is missing: only who holds the lock may write, and its token says so"}.write(w)
			return
		}
		h.Next.ServeHTTP(w, r)
		return
	}
	token, err := strconv.ParseInt(strings.TrimSpace(values[0]), 10, 64)
	if err != nil || token <= 0 || token >= 1<<53 || len(values) > 1 {
		problem{Status: http.StatusBadRequest, Detail: fmt.Sprintf("the header %s must be one positive number below 2^53, not %.100q", Header, values)}.write(w)
		return
	}
	resource := r.URL.Path
	if h.Resource != nil {
		resource = h.Resource(r)
	}
	leave, err := h.Gate.Enter(r.Context(), resource, token)
	if err != nil {
		refusal(err).write(w)
		return
	}
	defer leave()
	h.Next.ServeHTTP(w, r)
}

// problem is a body of application/problem+json (RFC 9457).
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Token  int64  `json:"token,omitempty"`
	Newest int64  `json:"newest,omitempty"`
}

func refusal(err error) problem {
	stale, ok := errors.AsType[*holdfast.StaleError](err)
	if !ok {
		return problem{Status: http.StatusServiceUnavailable, Detail: "the request ended before those with older tokens were done"}
	}
	return problem{Status: http.StatusPreconditionFailed, Token: stale.Token, Newest: stale.Newest,
		Detail: "the token is stale: a newer one has been seen here, so the lease that it came from is over"}
}

func (p problem) write(w http.ResponseWriter) {
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // whoever asked may be gone
}

// Refused is a *holdfast.StaleError if the answer is a Handler's to a stale
// token, else nil. It reads the body of such an answer, and of no other.
func Refused(answer *http.Response) error {
	if answer.StatusCode != http.StatusPreconditionFailed || answer.Header.Get("Content-Type") != "application/problem+json" {
		return nil
	}
	var p problem
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&p); err != nil || p.Token == 0 {
		return nil
	}
	name := ""
	if answer.Request != nil {
		name = answer.Request.URL.Path
	}
	return &holdfast.StaleError{Name: name, Token: p.Token, Newest: p.Newest}
}
