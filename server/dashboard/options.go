package dashboard

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// Options are the settings of [Handler]. Nil options and the zero value mean a
// dashboard at the root of a host that shows everything and changes nothing.
type Options struct {
	// BasePath is the path of the Handler, such as "/locks": with a slash in
	// front and none at the end. The Handler removes it by itself; do not use
	// http.StripPrefix. Default: none.
	BasePath string

	// Prefix limits the pages to names that begin with it. Default: none.
	Prefix string

	// TTL is the TTL of your locks. The page Redis checks the server for this TTL. Default:
	// holdfast.DefaultTTL.
	TTL time.Duration

	// ReadOnly removes the forms for Revoke and Steal, and refuses these
	// requests, even if Authorize allows them.
	ReadOnly bool

	// Authorize decides whether a request may do its action. The sender sees
	// its error, with status 403. [AllowAll] allows every request. Default: nil,
	// which refuses every request, as ReadOnly does.
	Authorize func(r *http.Request, action Action) error

	// Journal has the past, and the jobs of "holdfast run". See [JournalIn].
	// Default: nil, the past since a page was opened.
	Journal Journal

	// Diagnose adds what Redis does not store about names, such as how long they are
	// usually held: see journal.TypicalHolds. Default: nothing.
	Diagnose *diagnose.Options
}

// Action is a request to change a tenure.
type Action struct {
	Verb   Verb
	Name   string
	Tenure string // its hash
	Reason string // for the holder, as it was typed
}

// Verb is what an [Action] does.
type Verb string

// The verbs, after the methods of admin.Admin.
const (
	Revoke Verb = "revoke"
	Steal  Verb = "steal"
)

// AllowAll allows every request to revoke and steal, as Options.Authorize. Use it
// for a dashboard on loopback, or behind a proxy that admits only operators.
func AllowAll(*http.Request, Action) error { return nil }

// withDefaults returns a checked copy. A mistake of the program panics.
func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if p := v.BasePath; p != "" && (p != path.Clean(p) || p == "/" || !strings.HasPrefix(p, "/") || (&url.URL{Path: p}).EscapedPath() != p) {
		panic("holdfast/dashboard: Options.BasePath is " + p + `: it must begin with a slash, not end with one, and need no escapes, such as "/locks"`)
	}
	return v
}
