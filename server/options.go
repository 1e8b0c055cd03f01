package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/internal/lease"
)

// Options are the settings of [Handler]. Nil options, and the zero value of
// each field, mean the default.
type Options struct {
	// Tokens are the tokens and their roles. Without Tokens every request may
	// do everything, which is meant for a server that listens on loopback. The
	// server then serves only requests to an IP address, localhost or one of
	// Hosts. So no web page can reach it by another name.
	Tokens *auth.Tokens

	// Certificate is the certificate of [NewServer], for its ServeTLS. Default: none.
	Certificate *Certificate

	// Hosts are more host names for a server without Tokens.
	Hosts []string

	// TrustedProxies are proxies in front of the server. The address of their client is
	// the last one in X-Forwarded-For that is no trusted proxy. Default: none.
	TrustedProxies []netip.Prefix

	// BasePath is put before all paths, such as "/locks". Default: none.
	BasePath string

	// ReadOnly refuses every request that changes something.
	ReadOnly bool

	// Pages serves every path under BasePath that the API does not use, by its
	// whole path. [auth.PrincipalOf] returns the sender of a request. With Tokens,
	// Pages needs the role Viewer; a browser may send its token as the password
	// of HTTP Basic authentication. Default: 404.
	Pages http.Handler

	// Metrics serves /metrics, for the role Viewer. Default: 404.
	Metrics http.Handler

	// Diagnose adds what Redis does not store about names, such as how long they are
	// usually held: see journal.TypicalHolds. Default: nothing.
	Diagnose *diagnose.Options

	DefaultTTL time.Duration // TTL of a lease if the request has none; default 30 s, or MaxTTL if that is less
	MaxTTL     time.Duration // longest TTL of a request; default, and at most, holdfast.MaxTTL
	MaxWait    time.Duration // longest wait of a request; default 1 min
	MaxStream  time.Duration // longest wait of a stream for its lease; default 1 h

	// MaxRequests is the number of requests for a lease, and of other requests,
	// that are served at a time. MaxStreams is the number of streams, and of open pages. Further
	// requests get status 503. One token gets at most half of each. Defaults:
	// 1,024 and 4,096.
	MaxRequests, MaxStreams int

	// TerraformTTL is the TTL of a lock of Terraform, which does not renew it.
	// A lock that is never unlocked ends then. Default, and at most: MaxTTL.
	TerraformTTL time.Duration

	// Grace is how long the client of a stream has to close it when the server
	// shuts down. Default: 5 s.
	Grace time.Duration

	// Logger gets failures, and each revocation, steal and unlock with its
	// sender. Default: slog.Default().
	Logger *slog.Logger
}

func (o *Options) withDefaults() (Options, error) {
	var v Options
	if o != nil {
		v = *o
	}
	v.MaxTTL = cmp.Or(v.MaxTTL, holdfast.MaxTTL)
	v.DefaultTTL = cmp.Or(v.DefaultTTL, min(30*time.Second, v.MaxTTL))
	v.MaxWait = cmp.Or(v.MaxWait, time.Minute)
	v.MaxStream = cmp.Or(v.MaxStream, time.Hour)
	v.MaxRequests = cmp.Or(v.MaxRequests, 1024)
	v.MaxStreams = cmp.Or(v.MaxStreams, 4096)
	v.TerraformTTL = cmp.Or(v.TerraformTTL, v.MaxTTL)
	v.Grace = cmp.Or(v.Grace, 5*time.Second)
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	v.BasePath = strings.TrimSuffix(v.BasePath, "/")
	v.Hosts = strings.Fields(strings.ToLower(strings.Join(v.Hosts, " ")))
	for i, ttl := range []time.Duration{v.MaxTTL, v.DefaultTTL, v.TerraformTTL} { // MaxTTL first: it is the default of the others
		if ttl < lease.MinTTL || ttl > holdfast.MaxTTL || ttl%time.Millisecond != 0 {
			what := []string{"MaxTTL", "DefaultTTL", "TerraformTTL"}[i]
			return v, fmt.Errorf("server: Options.%s is %v: it must be whole milliseconds from %v to %v", what, ttl, lease.MinTTL, holdfast.MaxTTL)
		}
	}
	switch {
	case v.DefaultTTL > v.MaxTTL:
		return v, fmt.Errorf("server: Options.DefaultTTL is %v, more than MaxTTL, %v", v.DefaultTTL, v.MaxTTL)
	case v.TerraformTTL > v.MaxTTL:
		return v, fmt.Errorf("server: Options.TerraformTTL is %v, more than MaxTTL, %v", v.TerraformTTL, v.MaxTTL)
	case v.MaxWait < 0 || v.MaxStream < 0 || v.Grace < 0 || v.MaxRequests < 1 || v.MaxStreams < 1:
		return v, fmt.Errorf("server: a limit in Options is negative")
	case v.BasePath != "" && (v.BasePath[0] != '/' || strings.ContainsAny(v.BasePath, "{}%? #") || strings.Contains(v.BasePath, "//")):
		return v, fmt.Errorf("server: Options.BasePath is %q: it must begin with / and contain no characters that need escapes", v.BasePath)
	}
	return v, nil
}
