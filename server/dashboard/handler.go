package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
)

// Handler serves the pages of the names that client sees. It begins to poll
// when a page is opened, and stops 1 min after the last page was closed. There
// is nothing to close. It panics if BasePath is malformed. Close the client
// after the server.
func Handler(client *holdfast.Client, options *Options) http.Handler {
	if client == nil {
		panic("holdfast/dashboard: Handler needs a client")
	}
	d := &board{client: client, options: options.withDefaults(), assets: newAssets()}
	d.sampler = newSampler(surveyor(client, d.options.Prefix), d.options.Journal)
	d.templates = parseTemplates(d)
	d.doctor.check = client.Check

	mux := http.NewServeMux()
	base := d.options.BasePath
	for path, page := range map[string]func(*http.Request, *picture) view{
		"/{$}":       d.overview,
		"/locks":     d.locks,
		"/lock":      d.lock,
		"/processes": d.processes,
		"/problems":  d.problems,
		"/events":    d.events,
		"/elections": d.elections,
		"/jobs":      d.jobs,
		"/redis":     d.redis,
	} {
		mux.HandleFunc("GET "+base+path, func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, page) })
	}
	mux.HandleFunc("GET "+base+"/stream", d.stream)
	mux.HandleFunc("POST "+base+"/lock/{verb}", d.act)
	mux.HandleFunc("POST "+base+"/redis", d.checkAgain)
	mux.Handle("GET "+base+"/assets/{version}/{file...}", d.assets)
	mux.HandleFunc("GET "+base+"/", func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, d.nowhere) })
	if base != "" {
		mux.Handle("GET "+base, http.RedirectHandler(base+"/", http.StatusSeeOther))
	}
	return secure(mux)
}

// board is one Handler.
type board struct {
	client    *holdfast.Client
	options   Options
	sampler   *sampler
	assets    *assets
	templates map[string]*template.Template
	doctor    doctor
	recent    recent
	records   records
	made      made
}

// view is what a page shows, beside its frame.
type view struct {
	status   int // 0: 200
	template string
	title    string
	active   string // of the navigation
	charts   bool
	look     bool // it is of what a look saw, and before the first says nothing
	data     any
}

// page is what the frame's template gets.
type page struct {
	Title, Active string
	Base          string
	Assets        string
	Nav           []navItem
	Trouble       *trouble
	First         bool // the first look is still under way
	Blind         bool // there is nothing to be shown before a look has seen it
	Seen          *stamp
	Number        int64
	Charts        bool
	ReadOnly      bool
	Content       any
}

// navItem is a page in the navigation.
type navItem struct {
	Href, Icon, Text string
	Current          bool
	Count            string
	Alarm            bool // the count is of what somebody should act on
}

// trouble is that Redis does not answer.
type trouble struct {
	Sentence string
	Since    *stamp
}

// firstLook is how long a page waits for the first picture.
const firstLook = 3 * time.Second

// serve shows a page.
func (d *board) serve(w http.ResponseWriter, r *http.Request, show func(*http.Request, *picture) view) {
	ctx, cancel := context.WithTimeout(r.Context(), firstLook)
	p := d.sampler.latest(ctx)
	cancel()
	status, body := d.made.of(r, p, func() (int, []byte) { return d.render(show(r, p), p) })
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who has left needs no answer
}

func (d *board) render(v view, p *picture) (status int, body []byte) {
	frame := page{
		Title: v.title, Active: v.active, Base: d.options.BasePath, Assets: d.assets.base(d.options.BasePath),
		Nav: d.nav(v.active, p), Number: p.number, Charts: v.charts, ReadOnly: !d.options.mayAct(), Content: v.data,
	}
	frame.Seen, frame.First, frame.Blind = ago(p.at), p.number == 0, v.look && p.blind()
	if p.err != nil {
		frame.Trouble = &trouble{Sentence: whyNot(p.err), Since: frame.Seen}
	}
	var out bytes.Buffer
	if err := d.templates[v.template].ExecuteTemplate(&out, "frame", frame); err != nil {
		return http.StatusInternalServerError, []byte("Could not make this page: " + template.HTMLEscapeString(err.Error()))
	}
	return cmp.Or(v.status, http.StatusOK), out.Bytes()
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
	return visible(strings.TrimPrefix(err.Error(), "holdfast: ")) + "."
}

func (d *board) nav(active string, p *picture) []navItem {
	held, troubles := 0, 0
	for _, l := range p.locks {
		if l.active() {
			held++
		}
		if l.worst() != nil {
			troubles++
		}
	}
	items := []navItem{
		{Href: "/", Icon: "overview", Text: "Overview"},
		{Href: "/locks", Icon: "held", Text: "Locks", Count: count(held)},
		{Href: "/processes", Icon: "process", Text: "Processes"},
		{Href: "/problems", Icon: "watch", Text: "Problems", Count: count(troubles), Alarm: troubles > 0},
		{Href: "/events", Icon: "events", Text: "Events"},
		{Href: "/elections", Icon: "election", Text: "Elections"},
		{Href: "/jobs", Icon: "jobs", Text: "Jobs"},
		{Href: "/redis", Icon: "redis", Text: "Redis", Alarm: p.err != nil},
	}
	for i := range items {
		items[i].Current = items[i].Text == active
		items[i].Href = d.options.BasePath + items[i].Href
	}
	return items
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return thousands(n)
}

// nowhere is for paths that are none.
func (d *board) nowhere(*http.Request, *picture) view {
	return view{status: http.StatusNotFound, template: "nowhere", title: "No such page"}
}
