package server

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// origins are the hosts and pages that a request may come from. It refuses requests that web pages
// of other sites send.
type origins struct {
	anyHost bool     // the host name is not checked
	hosts   []string // more names of this host, in lower case
	links   bool     // a link of another page may lead here
	cross   *http.CrossOriginProtection
}

// OnlyLocal serves only requests to an IP address or localhost, and none that a page of another
// site sent. It is for handlers that need no token, such as profiles on loopback. Otherwise a web page
// could give its own name the address of this host, and read the answers.
func OnlyLocal(next http.Handler) http.Handler {
	o := &origins{cross: http.NewCrossOriginProtection()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := o.check(r); err != nil {
			reply.Error(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (o *origins) check(r *http.Request) error {
	if err := o.checkHost(r); err != nil {
		return err
	}
	err := o.cross.Check(r)
	site := r.Header.Get("Sec-Fetch-Site")
	other, link := site == "cross-site" || site == "same-site", o.links && isLink(r)
	if err == nil && other && !link {
		return reply.NewProblem("cross-origin", "a web page of another site sent this request: Sec-Fetch-Site is %s", site)
	}
	if err != nil {
		return reply.NewProblem("cross-origin", "a web page of another site sent this request: %v", err)
	}
	return nil
}

// isLink reports whether a browser shows the answer as a page of its own: the page with the link can't read it.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// checkHost refuses unknown host names. Otherwise a web page could give its own name our address,
// and would be of the same origin.
func (o *origins) checkHost(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if o.anyHost || host == "localhost" || net.ParseIP(host) != nil || slices.Contains(o.hosts, host) {
		return nil
	}
	return reply.NewProblem("host", "without tokens this server accepts only an IP address or localhost as Host, not %.100q", r.Host)
}
