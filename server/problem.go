package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/view"
)

// problem is an error as RFC 9457 has it. Its type is a link to where it is explained,
// and code the last word of that.
type problem struct {
	status     int
	code       string
	detail     string
	more       map[string]any // further members
	retryAfter int            // seconds; 0: not said
}

// problems is where they are explained.
const problems = "https://github.com/holdfast-go/holdfast/blob/main/docs/http.md#"

func newProblem(status int, code, detail string, args ...any) *problem {
	return &problem{status: status, code: code, detail: fmt.Sprintf(detail, args...)}
}

func (p *problem) Error() string { return p.detail }

// with adds a member.
func (p *problem) with(name string, value any) *problem {
	if p.more == nil {
		p.more = make(map[string]any)
	}
	p.more[name] = value
	return p
}

func (p *problem) members() map[string]any {
	all := map[string]any{
		"type": problems + p.code, "title": titles[p.code], "status": p.status,
		"code": p.code, "detail": p.detail,
	}
	maps.Copy(all, p.more)
	return all
}

func (p *problem) write(w http.ResponseWriter) {
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	writeJSON(w, p.members())
}

// titles has all codes.
var titles = map[string]string{
	"bad-request":  "the request is invalid",
	"bad-name":     "the name can't be locked",
	"bad-lease":    "not a lease",
	"media-type":   "the body is not JSON",
	"too-large":    "the body is too large",
	"token":        "a token is required",
	"forbidden":    "the role of the token does not allow this",
	"cross-origin": "request from a page of another site",
	"host":         "unknown Host",
	"read-only":    "the server is read-only",
	"not-found":    "no such path",
	"method":       "method not allowed",
	"held":         "the name is held",
	"kind":         "the name has another kind",
	"lost":         "the lease has ended",
	"not-holder":   "that tenure does not hold the name, or is of another library",
	"key-reused":   "the Idempotency-Key belongs to another request",
	"busy":         "the server is busy",
	"closing":      "the server is shutting down",
	"unavailable":  "Redis does not answer",
	"refused":      "Redis refused",
	"internal":     "internal error",
}

// problemOf is what an error of the library means over HTTP.
func problemOf(err error) *problem {
	var p *problem
	var lost *holdfast.LostError
	var tenure *holdfast.TenureError
	var refused driver.ServerError
	text := strings.TrimPrefix(err.Error(), "holdfast: ")
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, holdfast.ErrClosed):
		return closingProblem(text)
	case errors.As(err, &lost):
		return newProblem(http.StatusGone, "lost", "%s", text).with("cause", lost.Cause).with("reason", lost.Reason).with("token", lost.Token)
	case errors.As(err, &tenure):
		return newProblem(http.StatusPreconditionFailed, "not-holder", "%s", text).with("holder", view.NewHolder(tenure.Holder))
	case errors.Is(err, holdfast.ErrName):
		return newProblem(http.StatusBadRequest, "bad-name", "%s", text)
	case errors.Is(err, holdfast.ErrExport):
		return newProblem(http.StatusBadRequest, "bad-lease", "the header %s is not a complete lease from POST /v1/leases, or belongs to another prefix", leaseHeader)
	case errors.Is(err, holdfast.ErrKind):
		return newProblem(http.StatusConflict, "kind", "%s", text)
	case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, holdfast.ErrReplicas), errors.Is(err, holdfast.ErrTooSlow), errors.Is(err, holdfast.ErrUnknown):
		return unavailable(text)
	case errors.As(err, &refused):
		return newProblem(http.StatusBadGateway, "refused", "%s", text)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unavailable("no answer in time")
	}
	return newProblem(http.StatusInternalServerError, "internal", "%s", text)
}

func unavailable(why string) *problem {
	p := newProblem(http.StatusServiceUnavailable, "unavailable", "%s", why)
	p.retryAfter = 1
	return p
}

func closingProblem(why string) *problem {
	p := newProblem(http.StatusServiceUnavailable, "closing", "%s", why)
	p.retryAfter = 1
	return p
}

// heldProblem is the 409 of a name that somebody else has.
func heldProblem(name string, state *view.State) *problem {
	p := newProblem(http.StatusConflict, "held", "%s is held", name)
	p.retryAfter = 1
	if state == nil {
		return p.with("name", name)
	}
	if h := state.Holder; h != nil {
		who := h.Owner
		if who == "" {
			who = "another"
		}
		p.detail = fmt.Sprintf("%s is held by %s", name, who)
		if h.Cooldown {
			p.detail = fmt.Sprintf("%s is in cool-down after %s", name, who)
		}
		if h.RemainingMS != nil { // a holder that lives renews long before
			p.retryAfter = int(min(max(math.Ceil(time.Duration(*h.RemainingMS*int64(time.Millisecond)).Seconds()), 1), 10))
		}
	}
	if state.Waiting > 0 {
		p.detail += fmt.Sprintf(", %d waiting", state.Waiting)
	}
	return p.with("name", name).with("holder", state.Holder).with("waiting", state.Waiting).with("reasons", state.Reasons)
}

// writeJSON writes a value behind a header that has been written.
func writeJSON(w http.ResponseWriter, v any) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client has gone
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeJSON(w, v)
}
