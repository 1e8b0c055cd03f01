package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/lease"
	"github.com/holdfast-go/holdfast/server/internal/limit"
	"github.com/holdfast-go/holdfast/server/internal/past"
	"github.com/holdfast-go/holdfast/server/internal/reply"
	"github.com/holdfast-go/holdfast/server/internal/terraform"
)

// action is what one method of a path does.
type action struct {
	role    auth.Role // the least that may
	changes bool      // refused where it is read-only
	do      func(w http.ResponseWriter, r *http.Request) error
	counts  bool // it counts itself what is under way
}

// router decides which requests are served, and calls what serves a path.
type router struct {
	options Options
	mux     *http.ServeMux
	busy    *limit.Gate // requests, except those that may wait
	viewers *limit.Gate // of pages, which may stay for long
}

func routes(a *API, leases *lease.Leases) {
	names, v := leases.Names, &a.options
	byRequest := lease.NewByRequest(leases, a.waiting, lease.Limits{DefaultTTL: v.DefaultTTL, MaxTTL: v.MaxTTL, MaxWait: v.MaxWait}, v.BasePath)
	tf := terraform.New(leases, v.TerraformTTL)
	lock := action{auth.User, true, tf.Lock, false}
	unlock := action{auth.User, true, tf.Unlock, false}
	a.route("/v1/locks", map[string]action{"GET": {auth.Viewer, false, names.List, false}})
	a.route("/v1/locks/{name...}", map[string]action{"GET": {auth.Viewer, false, names.Show, false}})
	journal := past.New(names.Admin, leases.Store)
	a.route("/v1/history", map[string]action{"GET": {auth.Viewer, false, journal.History, false}})
	a.route("/v1/jobs", map[string]action{"GET": {auth.Viewer, false, journal.Jobs, false}})
	a.route("/v1/leases", map[string]action{"POST": {auth.User, true, byRequest.Acquire, true}})
	a.route("/v1/leases/stream", map[string]action{"POST": {auth.User, true, a.streams.Serve, true}})
	a.route("/v1/lease", map[string]action{
		"GET":    {auth.User, false, byRequest.Show, false},
		"PUT":    {auth.User, true, byRequest.Renew, false},
		"DELETE": {auth.User, true, byRequest.Release, false},
	})
	a.route("/v1/revoke", map[string]action{"POST": {auth.Admin, true, names.Revoke, false}})
	a.route("/v1/steal", map[string]action{"POST": {auth.Admin, true, names.Steal, false}})
	a.route("/v1/terraform/{name...}", map[string]action{"LOCK": lock, "POST": lock, "UNLOCK": unlock, "DELETE": unlock})
	a.route("/openapi.json", map[string]action{"GET": {auth.Anonymous, false, serveOpenAPI, false}})
	a.route("/healthz", map[string]action{"GET": {auth.Anonymous, false, health, false}})
	a.route("/readyz", map[string]action{"GET": {auth.Anonymous, false, ready(a), false}})
	if m := v.Metrics; m != nil {
		a.route("/metrics", map[string]action{"GET": {auth.Viewer, false, func(w http.ResponseWriter, r *http.Request) error {
			http.StripPrefix(v.BasePath, m).ServeHTTP(w, r)
			return nil
		}, false}})
	}
	base := v.BasePath
	a.mux.HandleFunc(base+"/", a.pages)
	if base != "" {
		a.mux.Handle(base, http.RedirectHandler(base+"/", http.StatusPermanentRedirect))
		a.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			reply.Error(w, reply.NewProblem("not-found", "all paths of this server begin with %s/", base))
		})
	}
}

// route serves a path. The mux does not know of methods, for it would answer a wrong
// one by itself, and not with a problem.
func (a *router) route(path string, methods map[string]action) {
	a.mux.HandleFunc(a.options.BasePath+path, func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		act, ok := methods[method]
		if !ok {
			allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
			w.Header().Set("Allow", allowed)
			reply.Error(w, reply.NewProblem("method", "this path allows %s", allowed))
		} else if err := a.perform(act, w, r); err != nil {
			reply.Error(w, err)
		}
	})
}

func (a *router) perform(act action, w http.ResponseWriter, r *http.Request) error {
	if err := a.admit(w, r, act.role); err != nil {
		return err
	}
	switch {
	case act.changes && a.options.ReadOnly:
		return reply.NewProblem("read-only", "the server was started read-only")
	case act.role > auth.Anonymous && !act.counts:
		leave, err := a.busy.Enter(auth.PrincipalOf(r))
		if err != nil {
			return err
		}
		defer leave()
	}
	return act.do(w, r)
}

var errNoPath = reply.NewProblem("not-found", "no such path; /openapi.json lists all paths")

// pages serves what is not the API's own.
func (a *router) pages(w http.ResponseWriter, r *http.Request) {
	if a.options.Pages == nil || strings.HasPrefix(r.URL.Path, a.options.BasePath+"/v1/") {
		reply.Error(w, errNoPath)
		return
	}
	if err := a.admit(w, r, auth.Viewer); err != nil {
		if w.Header().Get("WWW-Authenticate") != "" {
			w.Header().Add("WWW-Authenticate", `Basic realm="holdfast", charset="UTF-8"`)
		}
		reply.Error(w, err)
		return
	}
	leave, err := a.viewers.Enter(auth.PrincipalOf(r))
	if err != nil {
		reply.Error(w, err)
		return
	}
	defer leave()
	w.Header().Del("Cache-Control") // pages know better
	a.options.Pages.ServeHTTP(w, r)
}

// identify adds the sender of a request and the address of its client to it. It reports whether the
// sender is known. Without tokens all senders are.
func (a *router) identify(r *http.Request) (*http.Request, bool) {
	p, known := auth.Principal{Role: auth.Admin}, true
	if a.options.Tokens != nil {
		p, known = a.options.Tokens.Authenticate(secretOf(r))
	}
	r = p.With(r)
	r.RemoteAddr = limit.Forwarded(r, a.options.TrustedProxies)
	return r, known
}

// admit refuses a request if its sender does not have the role.
func (a *router) admit(w http.ResponseWriter, r *http.Request, role auth.Role) error {
	p := auth.PrincipalOf(r)
	switch {
	case p.Role >= role:
		return nil
	case p.Role > auth.Anonymous:
		return reply.NewProblem("forbidden", "the token of %s has the role %v: this request needs the role %v", p.Label, p.Role, role)
	}
	w.Header().Add("WWW-Authenticate", `Bearer realm="holdfast"`)
	if secretOf(r) == "" {
		return reply.NewProblem("token", "send a token: Authorization: Bearer TOKEN")
	}
	if valid, _ := a.options.Tokens.Check(); valid == 0 {
		return reply.NewProblem("token", "all tokens are refused, as the server has no valid token now: its log says why")
	}
	return reply.NewProblem("token", "unknown token")
}

// secretOf is the token of a request, from a bearer's header or, for Terraform and browsers,
// as the password of HTTP Basic.
func secretOf(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}
