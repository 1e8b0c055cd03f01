package server

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// access decides which requests are served.
type access struct {
	tokens *auth.Tokens // nil: there are none
	hosts  []string     // names of a server without tokens
}

// admit finds out the sender of a request, and whether it may do what needs the role.
func (a *access) admit(w http.ResponseWriter, r *http.Request, role auth.Role) (*http.Request, error) {
	p := auth.Principal{Role: auth.Admin}
	if a.tokens != nil {
		var ok bool
		secret := secretOf(r)
		if p, ok = a.tokens.Authenticate(secret); !ok && role > auth.Anonymous {
			w.Header().Add("WWW-Authenticate", `Bearer realm="holdfast"`)
			if secret == "" {
				return nil, reply.NewProblem("token", "send a token: Authorization: Bearer TOKEN")
			}
			return nil, reply.NewProblem("token", "unknown token")
		}
	}
	if p.Role < role {
		return nil, reply.NewProblem("forbidden", "the token of %s has the role %v: this request needs the role %v", p.Label, p.Role, role)
	}
	return p.With(r), nil
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
func (a *access) checkHost(r *http.Request) error {
	if a.tokens != nil {
		return nil
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || net.ParseIP(host) != nil || slices.Contains(a.hosts, host) {
		return nil
	}
	return reply.NewProblem("host", "a server without tokens accepts only an IP address or localhost as Host, not %.100q", r.Host)
}
