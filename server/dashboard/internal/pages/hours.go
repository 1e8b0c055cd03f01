package pages

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
	"github.com/holdfast-go/holdfast/server/internal/memo"
)

// spans are what the charts of the overview can show: minutes as they were seen, or hours from
// the sums of a journal.
var spans = []struct {
	value, text string
	span
}{
	{"", "Five minutes", span{5 * time.Minute, time.Second}},
	{"day", "One day", span{24 * time.Hour, time.Hour}},
	{"week", "One week", span{7 * 24 * time.Hour, time.Hour}},
}

// hours asks the journal once for all visitors.
func hours(b *Board) (readings[journal.Hour], error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstPicture)
	defer cancel()
	good := func(a memo.Answer[readings[journal.Hour]]) bool { return time.Since(a.At) <= 4*seen.Interval }
	got := b.hours.Get(ctx, "", good, func() (readings[journal.Hour], error) { return readingsOf(b.Journal.Hours(ctx)) })
	return got.Value, got.Err
}

// addHours replaces the charts by those of a longer time, if a visitor asks for one.
func addHours(o *overviewPage, now time.Time) {
	if o.Journal == nil {
		return
	}
	chosen := spans[0]
	for _, s := range spans {
		if s.value == o.query.Get("span") {
			chosen = s
		}
	}
	for _, s := range spans {
		o.Spans = append(o.Spans, choice{s.value, s.text, s == chosen})
	}
	if chosen.value == "" {
		return
	}
	read, err := hours(o.Board)
	if err != nil {
		o.Trouble = whyNot(err)
	}
	sums := ofLastDays(read.all, now)
	if len(sums) > 0 {
		o.Reach = show.Ago(sums[0].Begin)
	}
	o.Unreadable = read.text("sum")
	o.Hourly, o.Charts = true, hourCharts(everyHour(sums, now), chosen.span, now)
}

// reach is how far back the sums of a journal go.
const reach = 9 * 24 * time.Hour

// ofLastDays leaves out other sums: Redis may have forgotten to remove them, or another program
// wrote them.
func ofLastDays(sums []journal.Hour, now time.Time) []journal.Hour {
	return slices.DeleteFunc(slices.Clone(sums), func(h journal.Hour) bool {
		age := now.Sub(h.Begin)
		return age > reach || age < -time.Hour
	})
}

// everyHour adds the hours in which nothing was written. Of the time before the first nothing
// is known.
func everyHour(sums []journal.Hour, now time.Time) (all []journal.Hour) {
	for _, h := range sums {
		for n := len(all); n > 0 && all[n-1].Begin.Add(time.Hour).Before(h.Begin); n++ {
			all = append(all, journal.Hour{Begin: all[n-1].Begin.Add(time.Hour)})
		}
		all = append(all, h)
	}
	for n := len(all); n > 0 && !all[n-1].Begin.Add(time.Hour).After(now); n++ {
		all = append(all, journal.Hour{Begin: all[n-1].Begin.Add(time.Hour)})
	}
	return all
}

// mostWaited bounds the waits of all hours: the sum with another hour does not overflow.
const mostWaited = 100 * 365 * 24 * time.Hour

func hourCharts(all []journal.Hour, s span, now time.Time) []chart {
	first := now.Add(-s.long).Truncate(time.Hour)
	s.long = now.Sub(first)
	var sum journal.Hour
	for _, h := range all {
		if !h.Begin.Before(first) {
			sum.Granted, sum.Lost, sum.Waited, sum.Longest = sum.Granted+h.Granted, sum.Lost+h.Lost, min(sum.Waited+h.Waited, mostWaited), max(sum.Longest, h.Longest)
		}
	}
	seconds := valuesOf(all, func(h journal.Hour) *float64 { return new(float64(h.Begin.Unix())) })
	number := func(value func(journal.Hour) int64) []*float64 {
		return valuesOf(all, func(h journal.Hour) *float64 { return new(float64(value(h))) })
	}
	wait := func(value func(journal.Hour) time.Duration) []*float64 {
		return valuesOf(all, func(h journal.Hour) *float64 {
			if h.Granted == 0 {
				return nil
			}
			return new(float64(value(h).Milliseconds()))
		})
	}
	charts := []chart{
		newChart("Hand-overs per hour", "", s, now, seconds, line{"hand-overs", number(func(h journal.Hour) int64 { return h.Granted })}),
		newChart("Waits by the hour", "ms", s, now, seconds, line{"average", wait(average)}, line{"longest", wait(func(h journal.Hour) time.Duration { return h.Longest })}),
		newChart("Lost per hour", "", s, now, seconds, line{"lost", number(func(h journal.Hour) int64 { return h.Lost })}),
	}
	if len(all) > 0 {
		charts[0].Text = fmt.Sprintf("In all %s. %s", show.Thousands(int(sum.Granted)), charts[0].Text)
		charts[1].Text = fmt.Sprintf("On average %s, at most %s. %s", show.Length(average(sum)), show.Length(sum.Longest), charts[1].Text)
		charts[2].Text = fmt.Sprintf("In all %s. %s", show.Thousands(int(sum.Lost)), charts[2].Text)
	}
	return charts
}

// average returns the average wait of a grant.
func average(h journal.Hour) time.Duration { return h.Waited / time.Duration(max(1, h.Granted)) }
