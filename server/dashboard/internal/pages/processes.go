package pages

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// processesPage lists the processes that hold or wait, by host.
type processesPage struct {
	*visit
	Hosts []hostGroup
	Total int // processes
	Pages *parts
}

// hostGroup are the processes of one host, as their labels say.
type hostGroup struct {
	Host      string
	Processes []processRow
}

// processRow is one label.
type processRow struct {
	Owner string
	Holds []held
	Waits []*seen.Lock
	Locks string // where the rest is
	About string // its own details
	label string
	host  string
}

// held is a name, and what is left of the lease.
type held struct {
	Name string
	Bar  *leaseBar
}

func processes(v *visit) any {
	page := &processesPage{visit: v}
	all := slices.DeleteFunc(processesOf(v), func(row *processRow) bool { return !v.fits(row.label, row.host, row.About) })
	slices.SortFunc(all, func(a, b *processRow) int {
		return cmp.Or(later(a.host)-later(b.host), strings.Compare(a.host, b.host), strings.Compare(a.label, b.label))
	})
	page.Total = len(all)
	page.Pages, all = paged(v, all)
	for _, row := range all {
		if n := len(page.Hosts); n == 0 || page.Hosts[n-1].Host != view.Text(row.host) {
			page.Hosts = append(page.Hosts, hostGroup{Host: view.Text(row.host)})
		}
		group := &page.Hosts[len(page.Hosts)-1]
		group.Processes = append(group.Processes, *row)
	}
	return page
}

// processesOf are all that hold or wait for a name.
func processesOf(v *visit) []*processRow {
	rows := map[string]*processRow{}
	at := func(client, owner, shown string, about *holdfast.Details) *processRow {
		key := client + " " + owner // two processes may have one label, and one process two
		if rows[key] == nil {
			row := &processRow{Owner: shown, label: owner, Locks: v.Base + "/locks" + with(nil, "q", owner), About: view.Text(about.String()), host: hostOf(owner)}
			if about != nil {
				row.host = cmp.Or(about.Host, row.host)
			}
			rows[key] = row
		}
		return rows[key]
	}
	for _, l := range v.Picture.Locks {
		for _, h := range l.Holding() {
			row := at(h.Client, h.Owner, show.Owner(&h), h.Details)
			row.Holds = append(row.Holds, held{l.Name, newBar(l, &h)}) // each of several holders has its own time
		}
		for _, w := range l.Waiters {
			row := at(w.Client, w.Owner, show.Label(w.Owner), w.Details)
			row.Waits = append(row.Waits, l)
		}
	}
	return slices.Collect(maps.Values(rows))
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
