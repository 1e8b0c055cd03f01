package server

import (
	"context"
	"net/http"
	"strings"
)

// order is the body of a revoke or a steal.
type order struct {
	Name   string `json:"name"`
	Hash   string `json:"hash"` // of the tenure that is meant
	Reason string `json:"reason"`
}

// revoke asks a holder to stop: 202, and how many subscriptions were notified.
func (a *API) revoke(w http.ResponseWriter, r *http.Request) {
	a.order(w, r, "revoke", func(ctx context.Context, o *order) (any, error) {
		notified, err := a.client.Revoke(ctx, o.Name, o.Hash, o.Reason)
		return map[string]any{"name": o.Name, "hash": o.Hash, "notified": notified}, err
	}, http.StatusAccepted)
}

// steal takes the name from its holder: 200.
func (a *API) steal(w http.ResponseWriter, r *http.Request) {
	a.order(w, r, "steal", func(ctx context.Context, o *order) (any, error) {
		return map[string]any{"name": o.Name, "hash": o.Hash}, a.client.Steal(ctx, o.Name, o.Hash, o.Reason)
	}, http.StatusOK)
}

func (a *API) order(w http.ResponseWriter, r *http.Request, what string, give func(context.Context, *order) (any, error), status int) {
	body, p := readBody(w, r)
	o := &order{}
	if p == nil {
		p = decode(body, o)
	}
	if p == nil {
		p = o.check()
	}
	if p != nil {
		p.write(w)
		return
	}
	by := who(r)
	if by.Label != "" {
		o.Reason += " (by " + by.Label + ")"
	}
	ctx, leave, err := a.store.enter(r.Context())
	if err != nil {
		problemOf(err).write(w)
		return
	}
	defer leave()
	out, err := give(ctx, o)
	a.options.Logger.Info("server: "+what, "name", o.Name, "hash", o.Hash, "reason", o.Reason, "by", by.Label, "from", r.RemoteAddr, "error", err)
	if err != nil {
		problemOf(because(ctx, err)).write(w)
		return
	}
	answer(w, status, out)
}

func (o *order) check() *problem {
	o.Reason, o.Hash = strings.TrimSpace(o.Reason), strings.ToLower(o.Hash)
	switch {
	case o.Name == "":
		return newProblem(http.StatusBadRequest, "bad-name", "name is missing: give the name")
	case o.Reason == "":
		return newProblem(http.StatusBadRequest, "bad-request", "a reason is required: the holder reads it")
	case len(o.Reason) > 1000:
		return newProblem(http.StatusBadRequest, "bad-request", "reason has more than 1000 bytes")
	case len(o.Hash) != 10 || strings.Trim(o.Hash, "0123456789abcdef") != "":
		return newProblem(http.StatusBadRequest, "bad-request", "hash must be the hash of a tenure: ten hexadecimal digits, as GET /v1/locks/NAME gives it")
	}
	return nil
}
