package pages

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/server/internal/memo"
)

// redisPage is whether the server is fit for locks, and what looking at it costs.
type redisPage struct {
	*visit
	Checks memo.Answer[[]doctor.Result]
}

const (
	checkFor     = time.Minute      // the server is examined at most once a minute
	recheckAfter = 10 * time.Second // or when somebody asks again, and then not sooner than after this
	checkLimit   = 8 * time.Second
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
func CheckAgain(b *Board) { examine(b, recheckAfter) }

func redis(v *visit) any { return &redisPage{v, examine(v.Board, checkFor)} }
