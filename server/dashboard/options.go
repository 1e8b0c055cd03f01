package dashboard

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Options are the settings of a Handler. The zero value, and nil *Options, are a
// dashboard at the root of a host that shows everything and changes nothing.
type Options struct {
	// BasePath is the path that the Handler is mounted under, such as "/locks": with
	// a slash in front and none at the end. It takes that off by itself: no
	// http.StripPrefix. Default none.
	BasePath string

	// Prefix limits what is shown to names that begin with it. Default none.
	Prefix string

	// ReadOnly takes the forms for Revoke and Steal off the pages, and refuses them,
	// whatever Authorize says.
	ReadOnly bool

	// Authorize decides whether a request may do what it asks for. Its error is shown
	// to who asked, with status 403. Default nil: nobody may, as with ReadOnly.
	// Anyone lets everybody who reaches the pages.
	Authorize func(r *http.Request, action Action) error

	// Journal tells the past, and of the jobs of `holdfast run`, such as JournalIn. Default
	// nil: what was seen since somebody began to look.
	Journal Journal
}

// Action is what somebody wants to do to a tenure.
type Action struct {
	Verb   Verb
	Name   string
	Tenure string // its hash
	Reason string // for the holder, as it was typed
}

// Verb is what an Action does.
type Verb string

// The verbs, after the methods of holdfast.Client.
const (
	Revoke Verb = "revoke"
	Steal  Verb = "steal"
)

// Anyone as Options.Authorize lets everybody who reaches the pages revoke and steal: for a
// dashboard on loopback, or behind a proxy that admits only who may.
func Anyone(*http.Request, Action) error { return nil }

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

// mayAct reports whether anybody may do anything.
func (o *Options) mayAct() bool { return !o.ReadOnly && o.Authorize != nil }
