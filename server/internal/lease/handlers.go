package lease

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/limit"
	"github.com/holdfast-go/holdfast/server/internal/repeat"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// header carries the lease of a request. It is a capability, so it stands in no
// path, which would be logged.
const header = "Holdfast-Lease"

// maxKey is how long an Idempotency-Key may be, in bytes.
const maxKey = 255

// ByRequest serves leases that live by requests.
type ByRequest struct {
	*Leases
	Waiting  *limit.Gate // requests that may wait; they have their own limit, so that they keep no renewal out
	Limits   Limits
	BasePath string

	repeats *repeat.Memory
}

// NewByRequest makes a ByRequest.
func NewByRequest(l *Leases, waiting *limit.Gate, limits Limits, basePath string) *ByRequest {
	return &ByRequest{l, waiting, limits, basePath, repeat.New("Idempotency-Keys", l.Over)}
}

// ErrTokenRemoved refuses a lease to a request that waited for it.
var ErrTokenRemoved = reply.NewProblem("token", "the token was removed")

// Acquire answers a lease: 201, or 409 where the name is held for longer than the
// request waits.
func (b *ByRequest) Acquire(w http.ResponseWriter, r *http.Request) error {
	v, body, err := ReadWish(w, r, b.Limits)
	if err != nil {
		return err
	}
	leave, err := b.Waiting.Enter(auth.PrincipalOf(r))
	if err != nil {
		return err
	}
	defer leave()
	key := r.Header.Get("Idempotency-Key")
	var text string
	if key != "" {
		text, err = b.grantOnce(w, r, key, body, v)
	} else {
		text, err = b.Grant(r.Context(), v)
	}
	if errors.Is(err, holdfast.ErrHeld) {
		err = b.Names.Held(r.Context(), v.Name)
	}
	if err != nil {
		return err
	}
	if !auth.PrincipalOf(r).Valid() { // by now
		b.repeats.Ended(text)
		b.Drop(text)
		return ErrTokenRemoved
	}
	hold, err := b.askOf(r.Context(), text, b.Client.RenewExported)
	if key == "" && (err != nil || r.Context().Err() != nil) {
		b.Drop(text) // no client knows it
	}
	if err != nil {
		return err
	}
	w.Header().Set("Location", b.BasePath+"/v1/locks/"+url.PathEscape(hold.Name))
	return reply.JSON(w, http.StatusCreated, view.NewLease(text, hold))
}

// grantOnce is Grant, at most once for a key.
func (b *ByRequest) grantOnce(w http.ResponseWriter, r *http.Request, key string, body []byte, v *Wish) (string, error) {
	if len(key) > maxKey {
		return "", reply.NewProblem("bad-request", "Idempotency-Key has more than %d bytes", maxKey)
	}
	grant := func(ctx context.Context) (string, error) { return b.Grant(ctx, v) }
	text, again, err := b.repeats.Do(r.Context(), repeat.NewID(auth.PrincipalOf(r), key), sha256.Sum256(body), v.TTL, grant, b.Drop)
	if again {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	return text, err
}

// Renew prolongs the lease by its ttl.
func (b *ByRequest) Renew(w http.ResponseWriter, r *http.Request) error {
	return b.hold(w, r, b.Client.RenewExported)
}

// Show answers how it stands with the lease.
func (b *ByRequest) Show(w http.ResponseWriter, r *http.Request) error {
	return b.hold(w, r, b.Client.CheckExported)
}

func (b *ByRequest) hold(w http.ResponseWriter, r *http.Request, ask func(context.Context, string) (*holdfast.ExportedHold, error)) error {
	text, err := leaseOf(r)
	if err != nil {
		return err
	}
	hold, err := b.askOf(r.Context(), text, ask)
	if err != nil {
		return err
	}
	return reply.JSON(w, http.StatusOK, view.NewLease("", hold))
}

// askOf asks about a lease, and forgets its key if it has ended.
func (b *ByRequest) askOf(ctx context.Context, text string, ask func(context.Context, string) (*holdfast.ExportedHold, error)) (*holdfast.ExportedHold, error) {
	hold, err := b.ask(ctx, text, ask)
	if errors.Is(err, holdfast.ErrLost) {
		b.repeats.Ended(text)
	}
	return hold, err
}

// Release ends the lease: 204.
func (b *ByRequest) Release(w http.ResponseWriter, r *http.Request) error {
	text, err := leaseOf(r)
	if err == nil {
		err = b.Store.Do(context.WithoutCancel(r.Context()), func(ctx context.Context) error { // giving back can't be cancelled
			return b.Client.ReleaseExported(ctx, text)
		})
	}
	if err == nil || errors.Is(err, holdfast.ErrLost) {
		b.repeats.Ended(text)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func leaseOf(r *http.Request) (string, error) {
	if text := r.Header.Values(header); len(text) == 1 && text[0] != "" {
		return text[0], nil
	}
	return "", reply.NewProblem("bad-lease", "the header %s is missing: send the lease from the answer to POST /v1/leases", header)
}
