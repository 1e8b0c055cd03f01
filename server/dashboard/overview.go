package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// overviewPage is what the first page shows.
type overviewPage struct {
	Tiles    []tile
	Charts   []chart
	Troubles []problem
	More     int // problems that are not shown
	Lines    []lockRow
	Oldest   []lockRow
	Empty    bool // nothing was ever locked here
	Quiet    bool // nothing is held now
	ReadFrom string
	Since    *stamp
}

// tile is one figure.
type tile struct {
	Icon, Label, Value, Unit, Hint, Href string
	Alarm                                bool
}

const (
	few    = 5
	window = 5 * time.Minute

	waitP50, waitP99 = "Wait p50", "Wait p99"
	waitsEnded       = "Waits that ended"
)

func (d *board) overview(_ *http.Request, p *picture) view {
	o := &overviewPage{Empty: p.empty()}
	held, waiting, lines := 0, 0, 0
	for _, l := range p.locks {
		if l.held() {
			held++
		}
		if l.Waiting > 0 {
			lines++
		}
		waiting += l.Waiting
	}
	o.Quiet = held == 0 && waiting == 0
	o.Troubles = problemsOf(p)
	serious := 0
	for _, t := range o.Troubles {
		if t.Level != note {
			serious++
		}
	}
	o.Troubles = o.Troubles[:serious]
	if o.More = serious - few; o.More > 0 {
		o.Troubles = o.Troubles[:few]
	}
	o.Lines = d.top(p, func(l *lock) bool { return l.Waiting > 0 }, func(a, b *lock) int { return cmp.Compare(b.Waiting, a.Waiting) })
	o.Oldest = d.top(p, func(l *lock) bool { return l.held() && l.Holder.Held > 0 }, func(a, b *lock) int { return cmp.Compare(b.Holder.Held, a.Holder.Held) })

	d.sampler.remembers(func(past *past) {
		now := time.Now()
		rate, _ := past.rate(now.Add(-30 * time.Second))
		_, lost := past.rate(now.Add(-remembered))
		waits, n := past.quantiles(now.Add(-window), 0.5, 0.99)
		o.Since = ago(past.began)
		o.Tiles = []tile{
			{Icon: "held", Label: "Held", Value: thousands(held), Hint: "of " + plural(len(p.locks), "name"), Href: "/locks?state=held"},
			{Icon: "waiting", Label: "Waiting", Value: thousands(waiting), Hint: "in " + plural(lines, "queue"), Href: "/locks?state=waiting"},
			{Icon: "trouble", Label: "Lost", Value: thousands(lost), Hint: "leases, in ten minutes", Href: "/events?what=lost", Alarm: lost > 0},
			{Icon: "granted", Label: "Hand-overs", Value: fmt.Sprintf("%.1f", rate), Unit: "/s", Hint: "over 30 seconds", Href: "/events?what=granted"},
			waitTile(waitP50, waits[0], n),
			waitTile(waitP99, waits[1], n),
		}
		o.Charts = charts(past.points, now, d.quorum() == "")
		if d.quorum() != "" {
			o.withoutLines(past.written)
		}
		o.ReadFrom = "Polled twice a second; shorter holds are missed."
		if past.written {
			o.ReadFrom = "Hand-overs, waits and losses come from the journal."
		}
	})
	return view{template: "overview", title: "Overview", active: "Overview", charts: true, look: true, data: o}
}

// waitTile shows a quantile of waits.
func waitTile(label string, d time.Duration, n int) tile {
	t := tile{Icon: "jobs", Label: label, Value: "–", Hint: "no waits in five minutes", Href: "/events?what=granted"}
	if n > 0 {
		t.Value, t.Hint = length(d), "of "+plural(n, "wait")
	}
	return t
}

// charts are those of the overview; without inLine nothing is known of who waits.
func charts(points []point, now time.Time, inLine bool) []chart {
	title, lines := "Held", []line{{"held", func(q point) (float64, bool) { return float64(q.held), true }}}
	if inLine {
		title, lines = "Held and waiting", append(lines, line{"waiting", func(q point) (float64, bool) { return float64(q.waiting), true }})
	}
	ms := func(d time.Duration) (float64, bool) { return float64(d.Milliseconds()), d > 0 }
	return []chart{
		newChart(title, "", points, now, lines...),
		newChart("Hand-overs per second", "", points, now,
			line{"hand-overs", func(q point) (float64, bool) { return float64(q.handovers), true }}),
		newChart(waitsEnded, "ms", points, now,
			line{"p50", func(q point) (float64, bool) { return ms(q.p50) }},
			line{"p99", func(q point) (float64, bool) { return ms(q.p99) }}),
	}
}

// top are the first few locks of an order.
func (d *board) top(p *picture, which func(*lock) bool, order func(a, b *lock) int) []lockRow {
	var some []*lock
	for _, l := range p.locks {
		if which(l) {
			some = append(some, l)
		}
	}
	slices.SortStableFunc(some, order)
	var rows []lockRow
	for _, l := range some[:min(few, len(some))] {
		rows = append(rows, d.row(l))
	}
	return rows
}
