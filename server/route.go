package server

import (
	"net/http"
	"slices"
	"strings"
)

// action is what one method of a path does.
type action struct {
	role    Role // the least that may
	changes bool // refused where it is read-only
	do      func(w http.ResponseWriter, r *http.Request)
	streams bool // it is counted by itself
}

func (a *API) routes() {
	lock := action{User, true, a.lockTerraform, false}
	unlock := action{User, true, a.unlockTerraform, false}
	a.route("/v1/locks", map[string]action{"GET": {Viewer, false, a.list, false}})
	a.route("/v1/locks/{name...}", map[string]action{"GET": {Viewer, false, a.show, false}})
	a.route("/v1/leases", map[string]action{"POST": {User, true, a.acquire, true}})
	a.route("/v1/leases/stream", map[string]action{"POST": {User, true, a.stream, true}})
	a.route("/v1/lease", map[string]action{
		"GET":    {User, false, a.check, false},
		"PUT":    {User, true, a.renew, false},
		"DELETE": {User, true, a.release, false},
	})
	a.route("/v1/revoke", map[string]action{"POST": {Admin, true, a.revoke, false}})
	a.route("/v1/steal", map[string]action{"POST": {Admin, true, a.steal, false}})
	a.route("/v1/terraform/{name...}", map[string]action{"LOCK": lock, "POST": lock, "UNLOCK": unlock, "DELETE": unlock})
	a.route("/openapi.json", map[string]action{"GET": {Anonymous, false, serveOpenAPI, false}})
	a.route("/healthz", map[string]action{"GET": {Anonymous, false, a.health, false}})
	a.route("/readyz", map[string]action{"GET": {Anonymous, false, a.ready, false}})
	if m := a.options.Metrics; m != nil {
		a.route("/metrics", map[string]action{"GET": {Viewer, false, m.ServeHTTP, false}})
	}
	a.mux.HandleFunc("/", a.rest)
}

// route serves a path. The mux does not know of methods, for it would answer a wrong
// one by itself, and not with a problem.
func (a *API) route(path string, methods map[string]action) {
	a.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		act, ok := methods[method]
		if !ok {
			var allowed []string
			for m := range methods {
				allowed = append(allowed, m)
			}
			slices.Sort(allowed)
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			newProblem(http.StatusMethodNotAllowed, "method", "this path allows %s", strings.Join(allowed, ", ")).write(w)
			return
		}
		a.perform(act, w, r)
	})
}

func (a *API) perform(act action, w http.ResponseWriter, r *http.Request) {
	r, refused := a.admit(w, r, act.role)
	switch {
	case refused != nil:
		refused.write(w)
		return
	case act.changes && a.options.ReadOnly:
		newProblem(http.StatusForbidden, "read-only", "the server was started read-only").write(w)
		return
	case act.role == Anonymous || act.streams:
		act.do(w, r)
		return
	}
	leave, full := a.busy.enter(who(r), "requests in progress")
	if full != nil {
		full.write(w)
		return
	}
	defer leave()
	act.do(w, r)
}

// rest is what is not the API's own.
func (a *API) rest(w http.ResponseWriter, r *http.Request) {
	if a.options.Pages == nil || strings.HasPrefix(r.URL.Path, "/v1/") {
		newProblem(http.StatusNotFound, "not-found", "no such path; /openapi.json lists all paths").write(w)
		return
	}
	r, refused := a.admit(w, r, Viewer)
	if refused != nil {
		if refused.status == http.StatusUnauthorized {
			w.Header().Add("WWW-Authenticate", `Basic realm="holdfast", charset="UTF-8"`)
		}
		refused.write(w)
		return
	}
	w.Header().Del("Cache-Control") // pages know better
	u := *r.URL                     // they know their BasePath, which was taken off
	u.Path = a.options.BasePath + u.Path
	if u.RawPath != "" {
		u.RawPath = a.options.BasePath + u.RawPath
	}
	r.URL = &u // a copy, by admit
	a.options.Pages.ServeHTTP(w, r)
}
