package dashboard

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
)

// redisPage is whether the server is fit for locks, and what looking at it costs.
type redisPage struct {
	Checks     []checkRow
	Checked    *stamp
	Worst      string
	Took       string
	Names      int
	Picture    *stamp
	Unreadable int
}

// checkRow is a finding of Client.Check.
type checkRow struct {
	Name, State, Icon, Class  string
	Finding, Consequence, Fix string
}

// doctor examines the server for all who want to know, at most once a minute or when
// somebody asks anew, and then not sooner than after ten seconds.
type doctor struct {
	check  func(context.Context) []holdfast.Check
	mu     sync.Mutex // held while one is under way
	at     time.Time
	checks []holdfast.Check
}

const (
	checkFor   = time.Minute
	checkAnew  = 10 * time.Second
	checkLimit = 8 * time.Second
)

func (d *doctor) examine(anew bool) ([]holdfast.Check, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	good := checkFor
	if anew {
		good = checkAnew
	}
	if time.Since(d.at) > good {
		ctx, cancel := context.WithTimeout(context.Background(), checkLimit)
		defer cancel()
		d.checks = d.check(ctx)
		d.at = time.Now()
	}
	return d.checks, d.at
}

// checkAgain examines anew, and leads back.
func (d *board) checkAgain(w http.ResponseWriter, r *http.Request) {
	if sameOrigin(r) {
		d.doctor.examine(true)
	}
	http.Redirect(w, r, d.options.BasePath+"/redis", http.StatusSeeOther)
}

func (d *board) redis(_ *http.Request, p *picture) view {
	checks, at := d.doctor.examine(false)
	page := &redisPage{Checked: ago(at), Took: length(p.took), Names: len(p.locks), Unreadable: p.unreadable, Worst: "ok"}
	if !p.at.IsZero() {
		page.Picture = ago(p.at)
	}
	for _, c := range checks {
		row := checkRow{Name: c.Name, State: string(c.State), Finding: visible(c.Finding), Consequence: visible(c.Consequence), Fix: visible(c.Fix)}
		switch c.State {
		case holdfast.CheckOK:
			row.Icon, row.Class = "ok", "good"
		case holdfast.CheckWarn:
			row.Icon, row.Class = "watch", "warn"
			if page.Worst == "ok" {
				page.Worst = "watch"
			}
		case holdfast.CheckFail:
			row.Icon, row.Class = "trouble", "bad"
			page.Worst = "trouble"
		default:
			row.Icon, row.Class = "unknown", "calm"
		}
		page.Checks = append(page.Checks, row)
	}
	return view{template: "redis", title: "Redis", active: "Redis", data: page}
}
