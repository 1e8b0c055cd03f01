package serve

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
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
	flags.StringVar(&f.format, "notify-format", string(notify.JSON), "`SHAPE` of a post: json or slack")
	flags.IntVar(&f.limit, "notify-limit", 10, "`N` posts at most in a minute; the last one sums up the rest")
}

// check refuses contradictions, and reads the URL from its file.
func (f *notifyFlags) check(a *cli.App) error {
	switch {
	case f.url != "" && f.file != "":
		return cli.Usagef("--notify and --notify-file: want one of them")
	case f.limit < 1:
		return cli.Usagef("--notify-limit must be 1 or more")
	case f.file == "":
		return nil
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return cli.Exit(cli.ExitConfig, fmt.Errorf("%s: %w", a.Called("notify-file"), err))
	}
	if f.url = strings.TrimSpace(string(text)); f.url == "" {
		return cli.Exit(cli.ExitConfig, fmt.Errorf("%s %s: it is empty: want a URL", a.Called("notify-file"), f.file))
	}
	return nil
}

// begin posts problems in the background until end is called. Without a URL it does nothing.
func (f *serveFlags) beginNotify(ctx context.Context, a *cli.App, client *holdfast.Client, inventory *holdfastprom.Inventory, registry prometheus.Registerer) (end func(), err error) {
	if f.notify.url == "" {
		return func() {}, nil
	}
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_notifications_total", Help: "Tries to post a notification, by their result.",
	}, []string{"result"})
	for _, r := range notify.Results() {
		results.WithLabelValues(string(r))
	}
	registry.MustRegister(results)
	n, err := notify.New(client, &notify.Options{
		URL: f.notify.url, Format: notify.Format(f.notify.format), PerMinute: f.notify.limit,
		Survey: inventory.Survey, Source: cli.PublicURL(a.RedisURL), Logger: f.options.Logger,
		Count: func(r notify.Result) { results.WithLabelValues(string(r)).Inc() },
	})
	if err != nil {
		return nil, cli.Usagef("--notify: %v", err)
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Run(ctx)
	}()
	return func() { stop(); <-ended }, nil
}
