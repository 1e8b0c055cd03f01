// Package pages makes the pages of the dashboard. A [Board] serves each [Page] from the newest
// picture of package seen, with a template.
package pages

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
	"github.com/holdfast-go/holdfast/server/internal/memo"
)

// Config is what the pages are of.
type Config struct {
	Base     string // before all paths
	Assets   string // before the paths of scripts and styles
	ReadOnly bool
	MayAct   bool   // somebody may revoke and steal
	Quorum   string // the quorum-id of what is shown; empty: it is one master
	Journal  seen.Journal
	Check    func(context.Context) []doctor.Result
	Sampler  *seen.Sampler
}

// Board makes the pages of one dashboard.
type Board struct {
	Config
	pages     []Page
	templates map[string]*template.Template
	turns     chan struct{}    // full while as many pages are being made as may be
	made      memo.Memo[sheet] // each new picture makes all pages that are open fetch themselves at once
	recent    memo.Memo[readings[journal.Entry]]
	hours     memo.Memo[readings[journal.Hour]]
	records   memo.Memo[readings[journal.Job]]
	checks    memo.Memo[[]doctor.Result]
}

// sheet is a page as it was sent.
type sheet struct {
	number int64 // of the picture
	status int
	body   []byte
}

const (
	firstPicture = 3 * time.Second   // how long a page waits for the first picture
	madeFor      = seen.Interval / 2 // as old as a page may be that another is given, too
	maxMade      = 4                 // pages that are made at a time, so that other requests get their share of the machine
)

//go:embed templates
var templateFiles embed.FS

// New makes a Board of some pages, in the order of the navigation.
func New(c Config, pages []Page) *Board {
	b := &Board{Config: c, pages: pages, turns: make(chan struct{}, maxMade), templates: map[string]*template.Template{}}
	b.made.Max, b.recent.Max, b.hours.Max, b.records.Max, b.checks.Max = 64, 1000, 1, 1, 1
	functions := template.FuncMap{
		"icon": show.Icon, "visible": view.Text, "label": show.Label, "owner": show.Owner, "length": show.Length, "ago": show.Ago,
		"plural": show.Plural, "thousands": show.Thousands, "bar": newBar, "left": timeLeft, "part": partOf, "colour": colour, "whyNot": whyNot,
		"form":     func(page *lockPage, verb string) verbForm { return verbForm{page, verb} },
		"add":      func(a, b int) int { return a + b },
		"sub":      func(a, b int) int { return a - b },
		"base":     func() string { return c.Base },
		"quorum":   func() string { return c.Quorum },
		"journal":  func() bool { return c.Journal != nil },
		"lockHref": func(name string) string { return c.Base + "/lock?" + url.Values{"name": {name}}.Encode() },
	}
	for _, page := range pages {
		b.templates[page.Name] = template.Must(template.New(page.Name).Funcs(functions).ParseFS(templateFiles,
			"templates/frame.html", "templates/parts.html", "templates/"+page.Name+".html"))
	}
	return b
}

// Serve shows a page.
func (b *Board) Serve(w http.ResponseWriter, r *http.Request, page Page) {
	ctx, cancel := context.WithTimeout(r.Context(), firstPicture)
	p := b.Sampler.Latest(ctx)
	cancel()
	var made sheet
	if r.Method == http.MethodGet {
		good := func(a memo.Answer[sheet]) bool { return a.Value.number == p.Number && time.Since(a.At) <= madeFor }
		// Others wait for the same answer, so it does not depend on this client.
		made = b.made.Get(context.WithoutCancel(r.Context()), r.URL.Path+"?"+r.URL.RawQuery, good, func() (sheet, error) { return b.render(page, r, p), nil }).Value
	} else {
		made = b.render(page, r, p)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(made.status)
	_, _ = w.Write(made.body) // a client that has left needs no answer
}

func (b *Board) render(page Page, r *http.Request, p *seen.Picture) sheet {
	b.turns <- struct{}{}
	defer func() { <-b.turns }()
	v := &visit{Board: b, Page: page, Picture: p, Title: page.Title, query: r.URL.Query(), status: http.StatusOK}
	v.Content = page.content(v)
	var out bytes.Buffer
	if err := b.templates[page.Name].ExecuteTemplate(&out, "frame", v); err != nil {
		return sheet{p.Number, http.StatusInternalServerError, []byte("Could not make this page: " + template.HTMLEscapeString(err.Error()))}
	}
	return sheet{p.Number, v.status, out.Bytes()}
}

// whyNot is why what asks for many names was not answered, as a sentence. The name that it
// broke off at is not what it is about.
func whyNot(err error) string {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		if causes := many.Unwrap(); len(causes) > 0 {
			err = causes[len(causes)-1]
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "No answer in time."
	}
	return view.Text(strings.TrimPrefix(err.Error(), "holdfast: ")) + "."
}
