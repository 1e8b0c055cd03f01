// Package auth identifies the senders of requests to the server: it reads their tokens from a
// file, and knows the role of each.
package auth

import (
	"context"
	"crypto/sha256"
	"net/http"
)

// Role is a set of rights. Each role has the rights of the roles before it.
type Role int

// The roles.
const (
	Anonymous Role = iota // needs no token
	Viewer                // sees names, holders and waiters
	User                  // locks names, and renews and releases its own leases
	Admin                 // revokes and steals leases of others
)

var roles = []string{"anonymous", "viewer", "user", "admin"}

func (r Role) String() string {
	if r < Viewer || r > Admin {
		return "anonymous"
	}
	return roles[r]
}

// Principal is the sender of a request.
type Principal struct {
	Label string // of its token; empty where there are none
	Role  Role

	token [sha256.Size]byte // its hash; zero where there are none
	list  *Tokens           // the tokens that have it; nil: none
}

// Token identifies the token of a principal, by its hash; zero means none.
func (p Principal) Token() [sha256.Size]byte { return p.token }

// Valid reports whether the token of a principal still has its role. Without tokens it is true.
func (p Principal) Valid() bool {
	return p.list == nil || p.list.find(p.token).Role >= p.Role
}

type principalKey struct{}

// PrincipalOf returns the sender of a request, for the handlers in Options of the
// server.
func PrincipalOf(r *http.Request) Principal {
	p, _ := r.Context().Value(principalKey{}).(Principal)
	return p
}

// With returns a copy of a request as p has sent it.
func (p Principal) With(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, p))
}
