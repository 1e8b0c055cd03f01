package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/server/notify"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
)

// notifyFlags say where problems are posted.
type notifyFlags struct {
	url, file string // at most one; a secret
	format    string
	limit     int
}

func (f *notifyFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "notify", "", "`URL` to post problems to when they begin and end")
	flags.StringVar(&f.file, "notify-file", "", "`FILE` with that URL, to keep it out of the list of processes")
	flags.StringVar(&f.format, "notify-format", string(notify.JSON), "`FORMAT` of a post: json or slack")
	flags.IntVar(&f.limit, "notify-limit", 10, "at most `N` posts in a minute; the last one sums up the rest")
}

// notifications posts problems, and counts the results of the tries.
type notifications struct {
	notifier *notify.Notifier // nil: nothing is posted
	results  *prometheus.CounterVec
}

// open reads the URL from its file, and checks all flags. Nothing is posted about the names
// for which except returns true.
func (f *notifyFlags) open(a *cli.App, logger *slog.Logger, except func(name string) bool) (*notifications, error) {
	n := &notifications{results: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_notifications_total", Help: "Tries to post a notification, by result.",
	}, []string{"result"})}
	for _, r := range notify.Results() {
		n.results.WithLabelValues(string(r))
	}
	o := &notify.Options{
		URL: f.url, Format: notify.Format(f.format), PerMinute: f.limit, Source: cli.PublicURL(a.RedisURL),
		Count: func(r notify.Result) { n.results.WithLabelValues(string(r)).Inc() }, Logger: logger, Except: except,
	}
	switch {
	case f.url != "" && f.file != "":
		return nil, cli.Usagef("--notify and --notify-file exclude each other")
	case f.limit < 1:
		return nil, cli.Usagef("--notify-limit must be 1 or more")
	case f.file != "":
		text, err := os.ReadFile(f.file)
		if err != nil {
			return nil, cli.Exit(cli.ExitConfig, fmt.Errorf("%s: %w", a.Called("notify-file"), err))
		}
		o.URL = strings.TrimSpace(string(text))
	case f.url == "":
		return n, nil
	}
	var err error
	n.notifier, err = notify.New(o)
	switch {
	case err != nil && f.file != "":
		return nil, cli.Exit(cli.ExitConfig, fmt.Errorf("%s %s: %w", a.Called("notify-file"), f.file, err))
	case err != nil:
		return nil, cli.Usagef("%s: %v", a.Called("notify"), err)
	}
	return n, nil
}

// begin posts problems in the background until end is called.
func (n *notifications) begin(ctx context.Context, client *holdfast.Client, survey notify.Survey) (end func()) {
	if n.notifier == nil {
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.notifier.Run(ctx, client, survey)
	}()
	return func() { stop(); <-ended }
}
