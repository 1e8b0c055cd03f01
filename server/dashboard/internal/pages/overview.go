package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// overviewPage is what the first page shows.
type overviewPage struct {
	*visit
	Tiles      []tile
	Charts     []chart
	Spans      []choice    // times that the charts can show; none without a journal
	Hourly     bool        // the charts are of hours
	Reach      *show.Stamp // where the hours begin; nil: there are none
	Trouble    string      // the hours can't be read
	Unreadable string      // some of them can't
	Troubles   []problem
	More       int // problems that are not shown
	Queues     []*seen.Lock
	Oldest     []*seen.Lock
	Written    bool      // hand-overs, waits and losses are the journal's
	Newest     time.Time // entry of the journal
	Began      time.Time
}

// tile is one figure.
type tile struct {
	Icon, Label, Value, Unit, Hint, Href string
	Alarm                                bool
}

const (
	few    = 5
	window = 5 * time.Minute
)

func overview(v *visit) any {
	p := v.Picture
	o := &overviewPage{visit: v}
	held, waiting, queues := 0, 0, 0
	for _, l := range p.Locks {
		if l.Held() {
			held++
		}
		if l.Waiting > 0 {
			queues++
		}
		waiting += l.Waiting
	}
	o.Troubles = slices.DeleteFunc(problemsOf(p), func(one problem) bool { return one.Level == seen.Note })
	if o.More = len(o.Troubles) - few; o.More > 0 {
		o.Troubles = o.Troubles[:few]
	}
	o.Queues = top(p, func(l *seen.Lock) bool { return l.Waiting > 0 }, func(a, b *seen.Lock) int { return cmp.Compare(b.Waiting, a.Waiting) })
	o.Oldest = top(p, func(l *seen.Lock) bool { return l.Held() && l.Holder.Held > 0 }, func(a, b *seen.Lock) int { return cmp.Compare(b.Holder.Held, a.Holder.Held) })

	past, now := &p.Past, p.At
	o.Began, o.Written = past.Began, past.Written
	if o.Written && len(past.Events) > 0 {
		o.Newest = newestOf(past.Events).Add(p.Ahead)
	}
	o.Tiles = []tile{{Icon: "held", Label: "Held", Value: show.Thousands(held), Hint: "of " + show.Plural(len(p.Locks), "name"), Href: "/locks?state=held"}}
	queued := v.Quorum == "" // the nodes of a quorum have no queue: only a journal shows waiters
	if queued {
		o.Tiles = append(o.Tiles, tile{Icon: "waiting", Label: "Waiting", Value: show.Thousands(waiting), Hint: "in " + show.Plural(queues, "queue"), Href: "/locks?state=waiting"})
	}
	o.Tiles = append(o.Tiles, eventTiles(past, now, queued || past.Written)...)
	o.Charts = charts(past.Points, now, queued, queued || past.Written)
	addHours(o, time.Now())
	return o
}

// eventTiles are the figures of what happened.
func eventTiles(past *seen.Past, now time.Time, waits bool) []tile {
	rate, _ := past.Rate(now.Add(-30*time.Second), now)
	_, lost := past.Rate(seen.Since(seen.Remembered), now)
	tiles := []tile{
		{Icon: "trouble", Label: "Lost", Value: show.Thousands(lost), Hint: "leases, in ten minutes", Href: "/events?what=lost&since=10m", Alarm: lost > 0},
		{Icon: "granted", Label: "Hand-overs", Value: fmt.Sprintf("%.1f", rate), Unit: "/s", Hint: "over 30 seconds", Href: "/events?what=granted"},
	}
	if waits {
		lasted, n := past.Quantiles(now.Add(-window), 0.5, 0.99)
		tiles = append(tiles, waitTile("Wait p50", lasted[0], n), waitTile("Wait p99", lasted[1], n))
	}
	if past.Reading {
		for i := range tiles {
			tiles[i].Value, tiles[i].Unit, tiles[i].Hint, tiles[i].Alarm = "–", "", "reading the journal", false
		}
	}
	return tiles
}

// waitTile shows a quantile of waits.
func waitTile(label string, d time.Duration, n int) tile {
	t := tile{Icon: "jobs", Label: label, Value: "–", Hint: "no waits in five minutes", Href: "/events?what=granted"}
	if n > 0 {
		t.Value, t.Hint = show.Length(d), "of "+show.Plural(n, "wait")
	}
	return t
}

// charts are those of the overview, with what is known of waiters and of waits that ended.
func charts(points []seen.Point, now time.Time, queued, waits bool) []chart {
	number := func(v int) *float64 { return new(float64(v)) }
	polled := func(q seen.Point, v int) *float64 {
		if !q.Polled {
			return nil
		}
		return number(v)
	}
	ms := func(d time.Duration) *float64 {
		if d <= 0 {
			return nil
		}
		return new(float64(d.Milliseconds()))
	}
	of := func(value func(seen.Point) *float64) []*float64 { return valuesOf(points, value) }
	seconds := of(func(q seen.Point) *float64 { return new(float64(q.Second)) })
	title, lines := "Held", []line{{"held", of(func(q seen.Point) *float64 { return polled(q, q.Held) })}}
	if queued {
		title, lines = "Held and waiting", append(lines, line{"waiting", of(func(q seen.Point) *float64 { return polled(q, q.Waiting) })})
	}
	minutes := spans[0].span
	all := []chart{
		newChart(title, "", minutes, now, seconds, lines...),
		newChart("Hand-overs per second", "", minutes, now, seconds, line{"hand-overs", of(func(q seen.Point) *float64 { return number(q.Handovers) })}),
	}
	if waits {
		all = append(all, newChart("Waits that ended", "ms", minutes, now, seconds,
			line{"p50", of(func(q seen.Point) *float64 { return ms(q.P50) })},
			line{"p99", of(func(q seen.Point) *float64 { return ms(q.P99) })}))
	}
	return all
}

// top are the first few locks of an order.
func top(p *seen.Picture, which func(*seen.Lock) bool, order func(a, b *seen.Lock) int) []*seen.Lock {
	some := slices.DeleteFunc(slices.Clone(p.Locks), func(l *seen.Lock) bool { return !which(l) })
	slices.SortStableFunc(some, order)
	return some[:min(few, len(some))]
}
