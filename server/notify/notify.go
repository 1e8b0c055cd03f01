// Package notify posts to a URL when names get a problem and when they have none any more.
//
// The problems are those of package diagnose that need an operator. Of several processes, one
// elected leader surveys and posts. Redis stores what was posted, so the next leader does not
// post it again, and posts the end of it.
//
// Each begin and each end is posted at least once. It is posted again if its answer is late, and
// if the leader dies before it has recorded the post; a repeated post has the same name, code and
// time of the begin. Redis stores a begin before its first post, unless it refuses the write, so
// the next leader can post its end. Only if no begin is known to have arrived, and all tries of its
// end fail, the end is given up.
package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// Election is the name of the election of the process that posts.
const Election = "holdfast-notify"

const (
	stands = 10 * time.Second // a problem that stands for this long has begun
	gone   = 15 * time.Second // a problem that is gone for this long has ended

	interval = 5 * time.Second // from one survey to the next
	share    = 20              // a survey takes at most this share of the time
	rest     = time.Minute     // after a post that failed, and after an election that failed
)

// Format is the shape of a post.
type Format string

// The formats.
const (
	JSON  Format = "json"  // a [Message]
	Slack Format = "slack" // an object with the text of a Message, as incoming webhooks of Slack want it
)

// Result is the result of a try to post.
type Result string

// The results, as in metrics.
const (
	Posted  Result = "posted"  // the receiver answered 2xx
	Retried Result = "retried" // a try failed, and another follows
	Failed  Result = "failed"  // the last try failed
)

// Results returns all results.
func Results() []Result { return []Result{Posted, Retried, Failed} }

// Options are the settings of a [Notifier].
type Options struct {
	// URL is where posts go: http or https. It is a secret, and never logged.
	URL string

	// Format is the shape of a post. Default: JSON.
	Format Format

	// PerMinute is the largest number of posts in a minute. If more are due, the last of
	// them sums up the rest. Default: 10.
	PerMinute int

	// Source names the Redis in posts, as a URL without a password.
	Source string

	// Except reports whether nothing is posted about a name. Default: none is left out.
	Except func(name string) bool

	// Count is called with the result of each try. It must not block. Default: nothing.
	Count func(Result)

	// Transport sends the posts. Default: http.DefaultTransport.
	Transport http.RoundTripper

	// Logger gets failures. Default: slog.Default().
	Logger *slog.Logger
}

// Notifier posts problems while its process leads. Make it with [New].
type Notifier struct {
	options Options
	poster  *poster
}

// Survey returns the problems of all names. Only the leader calls it.
type Survey func(ctx context.Context) (*diagnose.Report, error)

// New makes a Notifier. An error never has the URL.
func New(options *Options) (*Notifier, error) {
	o := *options
	o.Format, o.PerMinute = cmp.Or(o.Format, JSON), cmp.Or(o.PerMinute, 10)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Count == nil {
		o.Count = func(Result) {}
	}
	to, err := url.Parse(o.URL)
	switch {
	case err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https":
		return nil, errors.New("the URL must begin with http:// or https:// and have a host")
	case o.Format != JSON && o.Format != Slack:
		return nil, fmt.Errorf("unknown format %q: want %s or %s", o.Format, JSON, Slack)
	case o.PerMinute < 1:
		return nil, errors.New("the limit must be 1 post per minute or more")
	}
	return &Notifier{o, newPoster(&o)}, nil
}

// Run campaigns as a Client, and posts while it leads. It returns when ctx ends.
func (n *Notifier) Run(ctx context.Context, client *holdfast.Client, survey Survey) {
	lead := func(ctx context.Context, _ *holdfast.Lease) error {
		t := term{Notifier: n, survey: survey, record: record{client: client, unsaved: map[string]string{}}}
		for sleep(ctx, max(interval, share*t.round(ctx))) {
		}
		return nil
	}
	for {
		err := holdfast.Lead(ctx, client.Election(Election), "", lead)
		if ctx.Err() != nil {
			return
		}
		n.options.Logger.Error("holdfast: nothing is posted: the election failed; the next try is in a minute", "error", err)
		if !sleep(ctx, rest) {
			return
		}
	}
}

// term is a Notifier that leads.
type term struct {
	*Notifier
	survey Survey
	record record
	watch  watch
	sent   window
	after  time.Time // the earliest time of the next post
	ill    bool      // the newest survey or record failed, which was logged
}

// round posts what is due. It returns how long its survey took.
func (t *term) round(ctx context.Context) (took time.Duration) {
	began := time.Now()
	report, err := t.survey(ctx)
	took = time.Since(began)
	var posted map[string]open
	if err == nil {
		posted, err = t.record.save(ctx)
	}
	if ctx.Err() != nil {
		return took
	}
	if err != nil {
		if !t.ill {
			t.options.Logger.Warn("holdfast: nothing is posted: the survey or its record in Redis failed; trying again", "error", err)
		}
		t.ill = true
		return took
	}
	t.ill = false
	if n := t.record.unreadable; n > 0 {
		t.record.unreadable = 0
		t.options.Logger.Warn("holdfast: records of posted problems cannot be read and are removed: another program wrote them", "records", n)
	}
	now := time.Now()
	due := t.watch.see(now, problems(report, t.options.Except), posted)
	if now.Before(t.after) {
		return took
	}
	for _, batch := range batches(due, t.sent.left(now, t.options.PerMinute)) {
		t.sent.add(time.Now())
		if t.record.trying(batch) {
			_, _ = t.record.save(ctx) // if Redis refuses, this process still knows
		}
		if err := t.poster.post(ctx, messageOf(batch, t.options.Source, time.Now())); err != nil {
			if ctx.Err() == nil {
				t.record.giveUp(batch)
				t.after = time.Now().Add(rest)
				t.options.Logger.Error("holdfast: a notification failed; the next post is in a minute", "error", err)
			}
			return took
		}
		t.record.note(batch)
		if _, err := t.record.save(ctx); err != nil && ctx.Err() == nil {
			t.options.Logger.Warn("holdfast: a notification was posted but not recorded; the next leader may repeat it", "error", err)
		}
	}
	return took
}

// problems are the most serious problems of the names that have one.
func problems(report *diagnose.Report, except func(string) bool) (found []Problem) {
	for i := range report.Names {
		n := &report.Names[i]
		if d := n.Problem(); d != nil && (except == nil || !except(n.Name)) {
			found = append(found, Problem{Name: n.Name, Code: d.Code, Sentence: d.Sentence, Action: d.Action})
		}
	}
	return found
}

// sleep waits. It returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
