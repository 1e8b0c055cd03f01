// Package reply writes answers: JSON, or a problem as in RFC 9457.
package reply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// Problem is an error of a request. Its type is a link to the page that explains
// it, and Code the last word of that.
type Problem struct {
	Code       string
	Detail     string
	RetryAfter int            // seconds; 0: not said
	more       map[string]any // further members
}

// page explains all problems.
const page = "https://github.com/holdfast-go/holdfast/blob/main/docs/http.md#"

// codes are all codes.
var codes = map[string]struct {
	status     int
	title      string
	retryAfter int
}{
	"bad-request":  {http.StatusBadRequest, "the request is invalid", 0},
	"bad-name":     {http.StatusBadRequest, "the name can't be locked", 0},
	"bad-lease":    {http.StatusBadRequest, "not a lease", 0},
	"media-type":   {http.StatusUnsupportedMediaType, "the body is not JSON", 0},
	"too-large":    {http.StatusRequestEntityTooLarge, "the body is too large", 0},
	"token":        {http.StatusUnauthorized, "a token is required", 0},
	"forbidden":    {http.StatusForbidden, "the role of the token does not allow this", 0},
	"cross-origin": {http.StatusForbidden, "request from a page of another site", 0},
	"host":         {http.StatusMisdirectedRequest, "unknown Host", 0},
	"read-only":    {http.StatusForbidden, "the server is read-only", 0},
	"not-found":    {http.StatusNotFound, "no such path", 0},
	"method":       {http.StatusMethodNotAllowed, "method not allowed", 0},
	"held":         {http.StatusConflict, "the name is held", 1},
	"kind":         {http.StatusConflict, "the name has another kind", 0},
	"lost":         {http.StatusGone, "the lease has ended", 0},
	"not-holder":   {http.StatusPreconditionFailed, "that tenure does not hold the name, or is of another library", 0},
	"key-reused":   {http.StatusUnprocessableEntity, "the Idempotency-Key belongs to another request", 0},
	"busy":         {http.StatusServiceUnavailable, "the server is busy", 1},
	"closing":      {http.StatusServiceUnavailable, "the server is shutting down", 1},
	"unavailable":  {http.StatusServiceUnavailable, "Redis is unavailable", 1},
	"version":      {http.StatusServiceUnavailable, "another version of holdfast uses the name", 0},
	"refused":      {http.StatusBadGateway, "Redis refused", 0},
	"internal":     {http.StatusInternalServerError, "internal error", 0},
}

// Closing is the problem of a request that a shutdown ends.
var Closing = NewProblem("closing", "the server is shutting down")

// NewProblem makes a problem with one of the codes.
func NewProblem(code, detail string, args ...any) *Problem {
	return &Problem{Code: code, Detail: fmt.Sprintf(detail, args...), RetryAfter: codes[code].retryAfter}
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// With adds a member.
func (p *Problem) With(name string, value any) *Problem {
	if p.more == nil {
		p.more = make(map[string]any)
	}
	p.more[name] = value
	return p
}

// Members are the members of its JSON.
func (p *Problem) Members() map[string]any {
	of := codes[p.Code]
	all := map[string]any{"type": page + p.Code, "title": of.title, "status": of.status, "code": p.Code, "detail": p.Detail}
	maps.Copy(all, p.more)
	return all
}

// Error answers a request with an error.
func Error(w http.ResponseWriter, err error) {
	p := ProblemOf(err)
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	write(w, "application/problem+json", codes[p.Code].status, p.Members())
}

// JSON answers a request with a value.
func JSON(w http.ResponseWriter, status int, v any) error {
	write(w, "application/json", status, v)
	return nil
}

func write(w http.ResponseWriter, media string, status int, v any) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client has gone
}

// Because is the problem that ended ctx, if one did, and not err, which followed from it.
func Because(ctx context.Context, err error) error {
	if p, ok := errors.AsType[*Problem](context.Cause(ctx)); ok && err != nil {
		return p
	}
	return err
}
