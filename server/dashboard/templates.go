package dashboard

import (
	"embed"
	"html/template"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// parseTemplates makes a template of each page with the frame around it. A mistake in
// one of them is a mistake of ours, and every test would see it.
func parseTemplates(d *board) map[string]*template.Template {
	functions := template.FuncMap{
		"icon":      icon,
		"visible":   visible,
		"label":     labelOf,
		"length":    length,
		"ago":       ago,
		"plural":    plural,
		"thousands": thousands,
		"lockHref":  d.lockHref,
		"base":      func() string { return d.options.BasePath },
		"form":      newForm,
		"quorum":    d.quorum,
		"ms":        func(t time.Duration) int64 { return t.Milliseconds() },
	}
	all := map[string]*template.Template{}
	for _, name := range []string{"overview", "locks", "lock", "processes", "problems", "events", "elections", "jobs", "redis", "nowhere"} {
		all[name] = template.Must(template.New(name).Funcs(functions).ParseFS(templateFiles,
			"templates/frame.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return all
}
