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

// SetHeader sets Header to the token of the lease.
func SetHeader(r *http.Request, lease *holdfast.Lease) {
	r.Header.Set(Header, strconv.FormatInt(lease.Token(), 10))
}

// Handler passes requests with a token to Next by Gate.Enter. A request waits while a
// request with an older token is served. A request with a stale token is refused. If
// Next leaves work running after it has returned, this work is not protected. Like
// Gate, a Handler protects only resources that no other process writes to.
//
// A Handler trusts the token in the request. A client that sends a token that is too
// high locks out all others, so authenticate clients in front of the Handler.
//
// Errors are application/problem+json: 412 for a stale token, with the members token
// and newest; 428 for a missing token if Required is set; 400 if the token is not a
// positive number below 2^53; 503 if the request ended while it waited.
type Handler struct {
	Gate *Gate // must be set; may be shared with other handlers of the same resources
	Next http.Handler

	// Resource returns the resource of a request. The default is its path. It must
	// return the same resource for all requests that change the same thing.
	Resource func(*http.Request) string

	// Required refuses requests without a token, except GET, HEAD and OPTIONS. If
	// it is false, requests without a token pass unchecked.
	Required bool
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	values := r.Header.Values(Header)
	if len(values) == 0 {
		if h.Required && r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
			problem{Status: http.StatusPreconditionRequired, Detail: "the header " + Header + " is missing: a write needs the token of the lock's holder"}.write(w)
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
		return problem{Status: http.StatusServiceUnavailable, Detail: "the request ended before the requests with older tokens"}
	}
	return problem{Status: http.StatusPreconditionFailed, Token: stale.Token, Newest: stale.Newest,
		Detail: "the token is stale: this service has seen a newer one, so the lease of this token has ended"}
}

func (p problem) write(w http.ResponseWriter) {
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}

// Refused returns a *holdfast.StaleError if the response is a Handler's refusal of a
// stale token, else nil. It reads the body only of such a refusal.
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
