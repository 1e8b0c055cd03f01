package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Options are the settings of an API. The zero value of each field, and nil
// *Options, mean the default.
type Options struct {
	// Tokens says who may do what. Without it everybody may do everything, which is for
	// a server that listens on loopback: then only requests to an IP address,
	// localhost or one of Hosts are served, so that no web page can reach it
	// by a name of its own.
	Tokens *Tokens

	// Hosts are more names under which a server without Tokens may be reached.
	Hosts []string

	// BasePath stands before all paths, such as "/locks". Default none.
	BasePath string

	// ReadOnly refuses all that changes something.
	ReadOnly bool

	// Pages serves what is below BasePath and not the API's own, by its whole path.
	// PrincipalOf tells it who asks. Default: 404. Where there are Tokens it is served to viewers, and to a browser that
	// gives one as the password of HTTP Basic authentication.
	Pages http.Handler

	// Metrics serves /metrics. Default: 404. Whoever may view may read it.
	Metrics http.Handler

	DefaultTTL time.Duration // of a lease whose request names none; default 30 s
	MaxTTL     time.Duration // the longest that may be asked for; default, and at most, holdfast.MaxTTL
	MaxWait    time.Duration // the longest wait of a request; default 1 min
	MaxStream  time.Duration // the longest wait of a stream for its lease; default 1 h

	// MaxRequests is how many requests for a lease are worked on or wait at a time, and
	// how many others; more are answered 503. Default 1,024. Streams are counted by
	// MaxStreams, default 4,096. One token has at most half of each.
	MaxRequests, MaxStreams int

	// TerraformTTL is how long a lock of Terraform lasts that is never
	// unlocked. Terraform does not renew. Default 24 h.
	TerraformTTL time.Duration

	// Grace is how long the client of a stream has to close it when the server
	// shuts down. Default 5 s.
	Grace time.Duration

	// Logger gets orders (who revoked, stole or unlocked what) and what goes wrong. Default slog.Default().
	Logger *slog.Logger
}

// minTTL is the shortest ttl over HTTP: one who renews by requests needs time for them.
const minTTL = time.Second

func (o *Options) withDefaults() (Options, error) {
	var v Options
	if o != nil {
		v = *o
	}
	v.DefaultTTL = cmp.Or(v.DefaultTTL, 30*time.Second)
	v.MaxTTL = cmp.Or(v.MaxTTL, holdfast.MaxTTL)
	v.MaxWait = cmp.Or(v.MaxWait, time.Minute)
	v.MaxStream = cmp.Or(v.MaxStream, time.Hour)
	v.MaxRequests = cmp.Or(v.MaxRequests, 1024)
	v.MaxStreams = cmp.Or(v.MaxStreams, 4096)
	v.TerraformTTL = cmp.Or(v.TerraformTTL, holdfast.MaxTTL)
	v.Grace = cmp.Or(v.Grace, 5*time.Second)
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	v.BasePath = strings.TrimSuffix(v.BasePath, "/")
	v.Hosts = strings.Fields(strings.ToLower(strings.Join(v.Hosts, " ")))
	for what, ttl := range map[string]time.Duration{"DefaultTTL": v.DefaultTTL, "MaxTTL": v.MaxTTL, "TerraformTTL": v.TerraformTTL} {
		if ttl < minTTL || ttl > holdfast.MaxTTL || ttl%time.Millisecond != 0 {
			return v, fmt.Errorf("server: Options.%s is %v: it must be whole milliseconds from %v to %v", what, ttl, minTTL, holdfast.MaxTTL)
		}
	}
	switch {
	case v.DefaultTTL > v.MaxTTL:
		return v, fmt.Errorf("server: Options.DefaultTTL is %v, more than MaxTTL, %v", v.DefaultTTL, v.MaxTTL)
	case v.MaxWait < 0 || v.MaxStream < 0 || v.Grace < 0 || v.MaxRequests < 1 || v.MaxStreams < 1:
		return v, fmt.Errorf("server: a limit in Options is negative")
	case v.BasePath != "" && (v.BasePath[0] != '/' || strings.ContainsAny(v.BasePath, "{}%? #") || strings.Contains(v.BasePath, "//")):
		return v, fmt.Errorf("server: Options.BasePath is %q: it must begin with / and be made of plain characters", v.BasePath)
	}
	return v, nil
}
