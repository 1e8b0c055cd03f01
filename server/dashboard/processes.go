package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-go/holdfast"
)

// processesPage is who holds and waits, by host.
type processesPage struct {
	Filter string
	Hosts  []hostGroup
	Total  int // processes
	Pages  *pages
	Empty  bool
}

// hostGroup are the processes of one host, as their labels say.
type hostGroup struct {
	Host      string
	Processes []processRow
}

// processRow is one label.
type processRow struct {
	Owner string
	Holds []lockRow
	Waits []lockRow
	MoreH int
	MoreW int
	Locks string // where the rest is
	About string // what it tells of itself
	label string
	host  string
}

// mostNamesShown of one process.
const mostNamesShown = 8

func (d *board) processes(r *http.Request, p *picture) view {
	q := r.URL.Query()
	page := &processesPage{Filter: q.Get("q"), Empty: p.empty()}
	rows := map[string]*processRow{}
	at := func(client, owner, shown string, about *holdfast.Details) *processRow {
		key := client + " " + owner // two processes may have one label, and one process two
		row := rows[key]
		if row == nil {
			row = &processRow{Owner: shown, label: owner, Locks: d.options.BasePath + "/locks" + with(nil, "q", owner)}
			row.About, row.host = visible(about.String()), hostOf(owner)
			if about != nil && about.Host != "" {
				row.host = about.Host
			}
			rows[key] = row
		}
		return row
	}
	for _, l := range p.locks {
		for _, h := range l.holders() {
			if row := at(h.Client, h.Owner, ownerName(&h), h.Details); len(row.Holds) < mostNamesShown {
				held := d.row(l)
				held.Bar = newBar(&h, l.seen) // of several who hold it each has a time of its own
				row.Holds = append(row.Holds, held)
			} else {
				row.MoreH++
			}
		}
		for _, w := range l.Waiters {
			if row := at(w.Client, w.Owner, labelOf(w.Owner), w.Details); len(row.Waits) < mostNamesShown {
				row.Waits = append(row.Waits, d.row(l))
			} else {
				row.MoreW++
			}
		}
	}
	var all []*processRow
	for _, row := range rows {
		if contains(row.label, page.Filter) || contains(row.host, page.Filter) || contains(row.About, page.Filter) {
			all = append(all, row)
		}
	}
	slices.SortFunc(all, func(a, b *processRow) int {
		return cmp.Or(later(a.host)-later(b.host), strings.Compare(a.host, b.host), strings.Compare(a.label, b.label))
	})
	page.Total = len(all)
	from, to := 0, 0
	page.Pages, from, to = paged(q, d.options.BasePath+"/processes", len(all))
	for _, row := range all[from:to] {
		if n := len(page.Hosts); n == 0 || page.Hosts[n-1].Host != visible(row.host) {
			page.Hosts = append(page.Hosts, hostGroup{Host: visible(row.host)})
		}
		group := &page.Hosts[len(page.Hosts)-1]
		group.Processes = append(group.Processes, *row)
	}
	return view{template: "processes", title: "Processes", active: "Processes", look: true, data: page}
}

// hostOf is the host of a label that is host:pid; else the label has none.
func hostOf(owner string) string {
	i := strings.LastIndexByte(owner, ':')
	if i <= 0 || i == len(owner)-1 || strings.ContainsFunc(owner[i+1:], func(r rune) bool { return !unicode.IsDigit(r) }) {
		return ""
	}
	return owner[:i]
}

// later puts labels without a host behind the others.
func later(host string) int {
	if host == "" {
		return 1
	}
	return 0
}
