package lease

import (
	"cmp"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/reply"
	"github.com/holdfast-go/holdfast/server/internal/request"
)

// MinTTL is the shortest ttl over HTTP: renewals by requests take time.
const MinTTL = time.Second

// maxOwner is how long an owner may be; what people see is cut to 64 bytes.
const maxOwner = 256

// Wish is what a request for a lease wants.
type Wish struct {
	Name, Owner string
	TTL, Wait   time.Duration
}

// Limits are the limits of wishes.
type Limits struct{ DefaultTTL, MaxTTL, MaxWait time.Duration }

// ReadWish reads and checks the body of a request for a lease, which it returns, too.
func ReadWish(w http.ResponseWriter, r *http.Request, limits Limits) (*Wish, []byte, error) {
	var text struct {
		Name  string `json:"name"`
		TTL   string `json:"ttl"`
		Wait  string `json:"wait"`
		Owner string `json:"owner"`
	}
	body, err := request.Decode(w, r, &text)
	v := &Wish{Name: text.Name, Owner: cmp.Or(text.Owner, ownerOf(r))}
	if err == nil {
		v.TTL, err = request.Duration("ttl", text.TTL, limits.DefaultTTL, MinTTL, limits.MaxTTL)
	}
	if err == nil {
		v.Wait, err = request.Duration("wait", text.Wait, 0, 0, limits.MaxWait)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case v.Name == "":
		return nil, nil, reply.NewProblem("bad-name", "name is missing: give the name to lock")
	case len(text.Owner) > maxOwner:
		return nil, nil, reply.NewProblem("bad-request", "owner has more than %d bytes", maxOwner)
	}
	return v, body, nil
}

// ownerOf is the owner of a lease whose request names none.
func ownerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = "http"
	}
	if p := auth.PrincipalOf(r); p.Label != "" {
		return p.Label + "@" + host
	}
	return "http:" + host
}
