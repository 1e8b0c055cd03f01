package lease

import (
	"cmp"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast"
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
	Kind
}

// Kind is what the name is, as the flags of "holdfast run" say it. The zero value is a mutex.
type Kind struct {
	Shared    bool `json:"shared"`    // a reader
	Exclusive bool `json:"exclusive"` // a writer
	Of        int  `json:"of"`        // size of a semaphore
	Permits   int  `json:"permits"`   // of those, default 1
}

// check finds fields that exclude each other or are out of range.
func (k *Kind) check() error {
	if k.Of > 0 {
		k.Permits = cmp.Or(k.Permits, 1)
	}
	switch {
	case k.Shared && k.Exclusive || (k.Shared || k.Exclusive) && (k.Of != 0 || k.Permits != 0):
		return reply.NewProblem("bad-request", `"shared", "exclusive" and "of" exclude each other: a name has one kind`)
	case k.Of < 0 || k.Of > holdfast.MaxSize:
		return reply.NewProblem("bad-request", `"of" is %d: it must be from 1 to %d`, k.Of, holdfast.MaxSize)
	case k.Permits != 0 && k.Of == 0:
		return reply.NewProblem("bad-request", `"permits" needs "of", the number of permits that the name has`)
	case k.Permits < 0 || k.Permits > k.Of:
		return reply.NewProblem("bad-request", `"permits" is %d: it must be from 1 to "of", which is %d`, k.Permits, k.Of)
	}
	return nil
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
		Kind
	}
	body, err := request.Decode(w, r, &text)
	v := &Wish{Name: text.Name, Owner: cmp.Or(text.Owner, ownerOf(r)), Kind: text.Kind}
	if err == nil {
		v.TTL, err = request.Duration("ttl", text.TTL, limits.DefaultTTL, MinTTL, limits.MaxTTL)
	}
	if err == nil {
		v.Wait, err = request.Duration("wait", text.Wait, 0, 0, limits.MaxWait)
	}
	if err == nil {
		err = v.check()
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
