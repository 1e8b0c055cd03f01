package dashboard

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
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

	// Journal tells the past. Default nil: what was seen since somebody began to look.
	Journal Journal

	// Jobs lists what `holdfast run` keeps of its jobs. Default nil: the page says that
	// there is nothing, and what to do.
	Jobs func(ctx context.Context) ([]Job, error)
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

// Entry is a line of a journal: something that happened to a name.
type Entry struct {
	At     time.Time
	What   string // asked, granted, released, lost, revoked, stolen or skipped
	Name   string
	Owner  string
	Token  int64         // 0: not known
	Waited time.Duration // of granted: since it was asked for; 0: not at all, or not known
	Held   time.Duration // of what ends a hold; 0: not known
	Cause  string        // of lost
	Reason string        // of revoked and stolen

	tenure string // hash, where we have seen it ourselves
}

// Journal is where the past was written down. Its methods are called from one goroutine
// for all who watch, or from a few.
type Journal interface {
	// Recent returns the newest entries of a name, of all names if that is empty, the
	// newest first, at most limit.
	Recent(ctx context.Context, name string, limit int) ([]Entry, error)
	// Follow yields entries as they are written, from now on, until ctx ends. An error
	// is its last.
	Follow(ctx context.Context) iter.Seq2[Entry, error]
}

// Job is what is kept of a command that `holdfast run` runs under a name.
type Job struct {
	Name        string
	Owner       string // who ran it last
	Started     time.Time
	Ended       time.Time // zero: it runs, or nobody knows how it ended
	Succeeded   time.Time // when it last ended with exit code 0; zero: never
	ExitCode    int       // of the last that ended
	Took        time.Duration
	Skipped     int       // since the last start: runs that found the name held
	LastSkipped time.Time // zero: none
}

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
