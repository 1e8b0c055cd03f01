package pages

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
	"github.com/holdfast-go/holdfast/server/internal/memo"
)

// redisPage is whether the server is fit for locks, and what looking at it costs.
type redisPage struct {
	Checks  []checkRow
	Checked *show.Stamp
	Took    string
	Names   int
	Picture *show.Stamp
}

// checkRow is a finding of a check of the server.
type checkRow struct {
	Name, State, Icon, Class  string
	Finding, Consequence, Fix string
}

const (
	checkFor   = time.Minute      // the server is examined at most once a minute
	checkAnew  = 10 * time.Second // or when somebody asks again, and then not sooner than after this
	checkLimit = 8 * time.Second
)

// examine checks the server unless that was done within a time.
func examine(b *Board, within time.Duration) memo.Answer[[]doctor.Result] {
	good := func(a memo.Answer[[]doctor.Result]) bool { return time.Since(a.At) <= within }
	return b.checks.Get(context.Background(), "", good, func() ([]doctor.Result, error) {
		ctx, cancel := context.WithTimeout(context.Background(), checkLimit)
		defer cancel()
		return b.Check(ctx), nil
	})
}

// CheckAgain examines the server for the page Redis.
func CheckAgain(b *Board) { examine(b, checkAnew) }

// levels are how the states of checks look.
var levels = map[doctor.State][2]string{
	doctor.OK:   {"ok", "good"},
	doctor.Warn: {"watch", "warn"},
	doctor.Fail: {"trouble", "bad"},
}

// Redis is the page of the server.
func Redis(b *Board, _ *http.Request, p *seen.Picture) Content {
	checks := examine(b, checkFor)
	page := &redisPage{Checked: show.Ago(checks.At), Took: show.Length(p.Took), Names: len(p.Locks), Picture: show.Ago(p.At)}
	for _, c := range checks.Value {
		look, known := levels[c.State]
		if !known {
			look = [2]string{"unknown", "calm"}
		}
		page.Checks = append(page.Checks, checkRow{c.Name, string(c.State), look[0], look[1], view.Text(c.Finding), view.Text(c.Consequence), view.Text(c.Fix)})
	}
	return Content{template: "redis", title: "Redis", active: "Redis", data: page}
}
