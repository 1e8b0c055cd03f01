package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Principal is the sender of a request.
type Principal struct {
	Label string // of its token; empty where there are none
	Role  Role

	id [32]byte // of its token; zero where there are none
}

type principalKey struct{}

// PrincipalOf returns the sender of a request, for the handlers in [Options].
func PrincipalOf(r *http.Request) Principal { return who(r) }

// who is who sent a request that was admitted.
func who(r *http.Request) Principal {
	p, _ := r.Context().Value(principalKey{}).(Principal)
	return p
}

// label is the owner of a lease whose request names none.
func (p Principal) label(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = "http"
	}
	if p.Label == "" {
		return "http:" + host
	}
	return p.Label + "@" + host
}

// admit finds out who sent a request, and whether that may do what needs the role.
func (a *API) admit(w http.ResponseWriter, r *http.Request, role Role) (*http.Request, *problem) {
	p := Principal{Role: Admin}
	if a.options.Tokens != nil {
		var ok bool
		secret := secretOf(r)
		if p, ok = a.options.Tokens.Authenticate(secret); !ok && role > Anonymous {
			w.Header().Add("WWW-Authenticate", `Bearer realm="holdfast"`)
			if secret == "" {
				return nil, newProblem(http.StatusUnauthorized, "token", "send a token: Authorization: Bearer TOKEN")
			}
			return nil, newProblem(http.StatusUnauthorized, "token", "unknown token")
		}
	}
	if p.Role < role {
		return nil, newProblem(http.StatusForbidden, "forbidden", "the token of %s has the role %v: this request needs the role %v", p.Label, p.Role, role)
	}
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, p)), nil
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

// checkHost refuses, where there are no tokens, a name that is not known here: a web page could
// give its own name our address, and then it is of the same origin.
func (a *API) checkHost(r *http.Request) *problem {
	if a.options.Tokens != nil {
		return nil
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || net.ParseIP(host) != nil || slices.Contains(a.options.Hosts, host) {
		return nil
	}
	return newProblem(http.StatusMisdirectedRequest, "host", "a server without tokens accepts only an IP address or localhost as Host, not %.100q", r.Host)
}
