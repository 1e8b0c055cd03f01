package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-go/holdfast"
)

// leaseHeader carries the lease of a request. It is a capability, so it stands in no
// path, which would be logged.
const leaseHeader = "Holdfast-Lease"

// wish is the body of a request for a lease.
type wish struct {
	Name  string `json:"name"`
	TTL   string `json:"ttl"`
	Wait  string `json:"wait"`
	Owner string `json:"owner"`

	ttl, wait time.Duration
}

// maxOwner is how long an owner may be; what people see is cut to 64 bytes.
const maxOwner = 256

// wish reads and checks the body of a request for a lease.
func (a *API) wish(w http.ResponseWriter, r *http.Request, mostWait time.Duration) (*wish, []byte, *problem) {
	body, p := readBody(w, r)
	if p != nil {
		return nil, nil, p
	}
	v := &wish{}
	if p = decode(body, v); p != nil {
		return nil, nil, p
	}
	if v.ttl, p = duration("ttl", v.TTL, a.options.DefaultTTL, minTTL, a.options.MaxTTL); p != nil {
		return nil, nil, p
	}
	if v.wait, p = duration("wait", v.Wait, 0, 0, mostWait); p != nil {
		return nil, nil, p
	}
	switch {
	case v.Name == "":
		return nil, nil, newProblem(http.StatusBadRequest, "bad-name", "name is missing: give the name to lock")
	case len(v.Owner) > maxOwner:
		return nil, nil, newProblem(http.StatusBadRequest, "bad-request", "owner has more than %d bytes", maxOwner)
	case v.Owner == "":
		v.Owner = who(r).label(r)
	}
	return v, body, nil
}

// leaseJSON is a lease by request as it is answered.
type leaseJSON struct {
	Lease     string    `json:"lease,omitempty"` // only where it is new
	Name      string    `json:"name"`
	Token     int64     `json:"token"`
	Owner     string    `json:"owner"`
	Hash      string    `json:"hash"`
	TTLMS     int64     `json:"ttl_ms"`
	Remaining int64     `json:"remaining_ms"`
	Deadline  time.Time `json:"deadline"`
	Waiting   int       `json:"waiting"`
}

func newLeaseJSON(h *holdfast.ExportedHold) leaseJSON {
	return leaseJSON{
		Name: h.Name, Token: h.Token, Owner: h.Owner, Hash: h.Hash, TTLMS: h.TTL.Milliseconds(),
		Remaining: h.Remaining.Milliseconds(), Deadline: time.Now().Add(h.Remaining).UTC().Truncate(time.Millisecond), Waiting: h.Waiting,
	}
}

// acquire answers a lease by request: 201, or 409 where the name is held for longer than
// the request waits.
func (a *API) acquire(w http.ResponseWriter, r *http.Request) {
	v, body, p := a.wish(w, r, a.options.MaxWait)
	if p != nil {
		p.write(w)
		return
	}
	leave, p := a.waiting.enter(who(r), "waiting requests for a lease")
	if p != nil {
		p.write(w)
		return
	}
	defer leave()
	key := r.Header.Get("Idempotency-Key")
	var text string
	var err error
	if key != "" {
		text, err = a.acquireOnce(w, r, key, body, v)
	} else {
		text, err = a.grant(r.Context(), v)
	}
	var hold *holdfast.ExportedHold
	if err == nil {
		hold, err = a.ask(r.Context(), text, a.client.RenewExported)
		if key == "" && (err != nil || r.Context().Err() != nil) {
			a.drop(text) // nobody hears of it
		}
	}
	if err != nil {
		problemOf(err).write(w)
		return
	}
	out := newLeaseJSON(hold)
	out.Lease = text
	w.Header().Set("Location", a.options.BasePath+"/v1/locks/"+url.PathEscape(hold.Name))
	answer(w, http.StatusCreated, out)
}

// acquireOnce is grant, at most once for a key.
func (a *API) acquireOnce(w http.ResponseWriter, r *http.Request, key string, body []byte, v *wish) (string, error) {
	if len(key) > maxKey {
		return "", newProblem(http.StatusBadRequest, "bad-request", "Idempotency-Key has more than %d bytes", maxKey)
	}
	id := repeatID{who(r).id, sha256.Sum256([]byte(key))}
	text, again, err := a.repeats.do(r.Context(), id, sha256.Sum256(body), v.ttl, func(ctx context.Context) (string, error) {
		return a.grant(ctx, v)
	}, a.drop)
	if again {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	return text, err
}

// grant waits for the name and exports the lease: from then on nobody here keeps it up.
func (a *API) grant(ctx context.Context, v *wish) (text string, err error) {
	ctx, leave, err := a.store.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.life, func() { cancel(closingProblem(shuttingDown)) })()
	lease, err := a.lock(ctx, v)
	if err != nil {
		return "", err
	}
	text, err = lease.Export()
	if err != nil {
		_ = lease.Release() // it is retried in the background
		return "", err
	}
	return text, nil
}

// lock locks the name, and makes a problem of what goes wrong.
func (a *API) lock(ctx context.Context, v *wish) (*holdfast.Lease, error) {
	m := a.client.Mutex(v.Name)
	m.Owner, m.TTL = v.Owner, v.ttl
	if v.wait == 0 {
		lease, err := m.TryLock(ctx)
		if errors.Is(err, holdfast.ErrHeld) {
			return nil, a.held(ctx, v.Name)
		}
		return lease, because(ctx, err)
	}
	waiting, cancel := context.WithTimeout(ctx, v.wait)
	defer cancel()
	lease, err := m.Lock(waiting)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, a.held(ctx, v.Name)
	}
	return lease, because(ctx, err)
}

// held is the problem of a name that somebody else has, with who that is.
func (a *API) held(ctx context.Context, name string) error {
	state, err := a.look(ctx, name, false)
	if err != nil {
		state = nil
	}
	return heldProblem(name, state)
}

// drop releases a lease that nobody will ever hear of, in the background.
func (a *API) drop(text string) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := a.client.ReleaseExported(ctx, text); err != nil && !errors.Is(err, holdfast.ErrLost) {
			a.options.Logger.Warn("server: could not release a lease whose client is gone; it ends with its ttl", "error", err)
		}
	}()
}

// renew prolongs the lease by its ttl.
func (a *API) renew(w http.ResponseWriter, r *http.Request) { a.hold(w, r, a.client.RenewExported) }

// check tells how it stands with the lease.
func (a *API) check(w http.ResponseWriter, r *http.Request) { a.hold(w, r, a.client.CheckExported) }

func (a *API) hold(w http.ResponseWriter, r *http.Request, ask func(context.Context, string) (*holdfast.ExportedHold, error)) {
	text, p := leaseOf(r)
	if p != nil {
		p.write(w)
		return
	}
	hold, err := a.ask(r.Context(), text, ask)
	if err != nil {
		problemOf(err).write(w)
		return
	}
	answer(w, http.StatusOK, newLeaseJSON(hold))
}

// ask asks the store about a lease.
func (a *API) ask(ctx context.Context, text string, ask func(context.Context, string) (*holdfast.ExportedHold, error)) (*holdfast.ExportedHold, error) {
	ctx, leave, err := a.store.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	hold, err := ask(ctx, text)
	return hold, because(ctx, err)
}

// release ends the lease: 204.
func (a *API) release(w http.ResponseWriter, r *http.Request) {
	text, p := leaseOf(r)
	if p != nil {
		p.write(w)
		return
	}
	ctx, leave, err := a.store.enter(context.WithoutCancel(r.Context())) // giving back can't be cancelled
	if err != nil {
		problemOf(err).write(w)
		return
	}
	defer leave()
	if err := a.client.ReleaseExported(ctx, text); err != nil {
		problemOf(because(ctx, err)).write(w)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func leaseOf(r *http.Request) (string, *problem) {
	switch text := r.Header.Values(leaseHeader); {
	case len(text) != 1 || text[0] == "":
		return "", newProblem(http.StatusBadRequest, "bad-lease", "the header %s is missing: send the lease from the answer to POST /v1/leases", leaseHeader)
	default:
		return text[0], nil
	}
}
