// Package serve is 'holdfast serve': locks over HTTP, with a dashboard.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/help"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/take"
	holdfastprom "github.com/holdfast-go/holdfast/contrib/prometheus"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/dashboard"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const defaultServeAddress = "127.0.0.1:7420"

// serveFlags are the flags of serve.
type serveFlags struct {
	listen, admin   string
	tokens          string
	cert, key       string
	maxConnections  int
	options         server.Options
	notify          notifyFlags
	noAlert         []string // patterns of names
	proxies         []string
	tokensWereAsked bool
	silent          bool
}

// Command is 'holdfast serve'.
func Command(a *cli.App) *cobra.Command {
	f := &serveFlags{}
	var flags *pflag.FlagSet
	cmd := a.Command("serve", "Serve locks over HTTP, with a dashboard", cli.NoArgs, func(ctx context.Context, _ []string) error {
		f.tokensWereAsked = flags.Changed("tokens")
		return serve(ctx, a, f)
	})
	cmd.Annotations = map[string]string{help.MostUsed: "listen tokens tls-cert tls-key host base-path read-only max-ttl max-wait grace"}
	flags = cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultServeAddress, "`ADDRESS` to listen on; port 0 is any free one")
	flags.StringVar(&f.tokens, "tokens", "", "`FILE` of tokens, see 'holdfast serve token'")
	flags.StringVar(&f.cert, "tls-cert", "", "`FILE` of the certificate (PEM): serve HTTPS")
	flags.StringVar(&f.key, "tls-key", "", "`FILE` of the private key (PEM)")
	flags.StringVar(&f.options.BasePath, "base-path", "", "`PATH` before all paths, such as /locks")
	flags.StringArrayVar(&f.options.Hosts, "host", nil, "`NAME` to accept in the Host header when there are no --tokens; may be repeated")
	flags.StringArrayVar(&f.proxies, "trusted-proxy", nil, "`ADDRESS` or network of a proxy that sends X-Forwarded-For; may be repeated")
	flags.BoolVar(&f.options.ReadOnly, "read-only", false, "refuse all requests that change something")
	flags.DurationVar(&f.options.MaxTTL, "max-ttl", holdfast.MaxTTL, "longest ttl of a lease")
	flags.DurationVar(&f.options.MaxWait, "max-wait", time.Minute, "longest wait of a request")
	flags.DurationVar(&f.options.TerraformTTL, "terraform-ttl", 0, "time until a lock of Terraform ends, unless unlocked; at most, and by default, --max-ttl")
	flags.DurationVar(&f.options.Grace, "grace", 5*time.Second, "time for streams to close when the server ends")
	flags.IntVar(&f.options.MaxStreams, "max-streams", 4096, "`N` streams at most at a time")
	flags.IntVar(&f.maxConnections, "max-connections", 8192, "`N` connections at most at a time; idle ones make room")
	f.notify.add(flags)
	flags.StringArrayVar(&f.noAlert, "no-alert", nil, "`PATTERN` of names without alerts, such as 'dev:*'; may be repeated")
	take.JournalFlag(flags, &f.silent)
	flags.StringVar(&f.admin, "admin-listen", "", "loopback `ADDRESS` for profiles of this process (pprof)")
	cmd.AddCommand(serveTokenCommand(a))
	return cmd
}

func serve(ctx context.Context, a *cli.App, f *serveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	f.options.BasePath = strings.TrimSuffix(f.options.BasePath, "/")
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	f.options.Logger = slog.New(a.Logger(levelOf(a)))
	if err := serveFiles(a, f); err != nil {
		return err
	}
	posts, err := f.notify.open(a, f.options.Logger, f.excepted)
	if err != nil {
		return err
	}
	metrics := holdfastprom.New(nil)
	log := &take.JobLog{A: a, Silent: f.silent}
	var seen driver.Store // for the journal, not counted
	client, err := connect.Open(ctx, a, holdfast.Options{
		OnEvent: metrics.OnEvent,
		Details: &holdfast.Details{}, // empty: they note that no process renews a lease by request; the owner of the lease is its client
	}, log.Open, func(s *connect.Session, _ *holdfast.Options) func() {
		seen, s.Store = s.Store, metrics.Store(s.Store, "")
		return func() {}
	})
	if err != nil {
		return err
	}
	defer client.Close()
	f.options.Diagnose = client.Known
	inventory := holdfastprom.NewInventory(admin.Of(client.Client), &holdfastprom.InventoryOptions{Diagnose: client.Known, Except: f.excepted})
	f.options.Metrics = f.metricsOf(metrics, client.Client, seen, a.Prefix, inventory, posts.results)
	if f.options.Pages, err = f.pagesOf(client.Client, seen, a.Prefix); err != nil {
		return err
	}
	api, err := server.Handler(client.Client, &f.options)
	if err != nil {
		return cli.Usagef("%v", err)
	}
	listener, err := listen(ctx, f.listen)
	if err != nil {
		return err
	}
	endAdmin, err := serveAdmin(ctx, a, f.admin)
	if err != nil {
		_ = listener.Close()
		return err
	}
	defer endAdmin()
	defer posts.begin(ctx, client.Client, inventory.Survey)()
	web, failed := f.startWeb(a, api, listener)
	if err := announce(a, listener.Addr(), f); err != nil {
		return errors.Join(err, web.Close())
	}
	select {
	case err := <-failed:
		return cli.Exit(cli.ExitSoftware, err)
	case <-ctx.Done():
	}
	stop() // a second ctrl-C ends it at once
	return endServing(a, api, web, f.options.Grace)
}

// levelOf is the least level of what the server logs: what admins have done is shown without --verbose.
func levelOf(a *cli.App) slog.Level {
	if a.Quiet {
		return a.Level()
	}
	return min(a.Level(), slog.LevelInfo)
}

// startWeb serves the API at a listener until the server ends, and returns its error then.
func (f *serveFlags) startWeb(a *cli.App, api *server.API, listener net.Listener) (*http.Server, <-chan error) {
	web := server.NewServer(api)
	web.ErrorLog = slog.NewLogLogger(a.Logger(a.Level()), slog.LevelDebug)
	failed := make(chan error, 1)
	go func() {
		limited := server.LimitListener(listener, f.maxConnections, f.options.TrustedProxies...)
		if f.options.Certificate != nil {
			failed <- web.ServeTLS(limited, "", "")
		} else {
			failed <- web.Serve(limited)
		}
	}()
	return web, failed
}

// serveFiles reads the files that flags name into the options, before anything is begun.
func serveFiles(a *cli.App, f *serveFlags) (err error) {
	if f.tokens != "" {
		if f.options.Tokens, err = auth.OpenTokens(f.tokens, f.options.Logger); err != nil {
			return cli.Exit(cli.ExitConfig, fmt.Errorf("%s: %s", a.Called("tokens"), strings.TrimPrefix(err.Error(), "server: tokens: ")))
		}
	}
	if f.cert != "" {
		if f.options.Certificate, err = server.OpenCertificate(f.cert, f.key, f.options.Logger); err != nil {
			return cli.Exit(cli.ExitConfig, fmt.Errorf("%s %s, %s %s: %w", a.Called("tls-cert"), f.cert, a.Called("tls-key"), f.key, err))
		}
	}
	return nil
}

// endServing lets the clients of streams stop, and releases what they held.
func endServing(a *cli.App, api *server.API, web *http.Server, grace time.Duration) error {
	a.Detail("ending: streams have %v to close", grace)
	ctx, cancel := context.WithTimeout(context.Background(), grace+5*time.Second)
	defer cancel()
	err := api.Close(ctx)
	if shut := web.Shutdown(ctx); shut != nil {
		err = errors.Join(err, shut, web.Close())
	}
	if err != nil {
		a.Say("ended, but some connections were not closed: %v", err)
	}
	return nil
}

// announce prints where it is.
func announce(a *cli.App, at net.Addr, f *serveFlags) error {
	url := "http://" + at.String() + f.options.BasePath
	if f.cert != "" {
		url = "https" + url[len("http"):]
	}
	if _, err := fmt.Fprintln(a.Stdout, url); err != nil {
		return err
	}
	a.Say("serving the locks of %s; ctrl-C ends it", cli.PublicURL(a.RedisURL))
	switch {
	case f.tokens != "" && f.cert == "" && !server.IsLoopback(f.listen):
		a.Say("tokens are sent as plain text: use --tls-cert, or a proxy with TLS")
	case f.tokens == "":
		a.Say("without --tokens everybody on this machine can do everything")
	}
	return nil
}

// check refuses what would let the wrong ones in.
func (f *serveFlags) check() error {
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return cli.Usagef("--listen %s: want host:port such as %s", f.listen, defaultServeAddress)
	}
	switch {
	case f.tokens == "" && f.tokensWereAsked:
		return cli.Usagef("--tokens needs the name of a file")
	case f.tokens == "" && !server.IsLoopback(f.listen):
		return cli.Usagef("--listen %s: other machines can reach it, so --tokens is needed; see 'holdfast serve token --help'", f.listen)
	case f.admin != "" && !server.IsLoopback(f.admin):
		return cli.Usagef("--admin-listen %s: want a loopback address such as 127.0.0.1:7421: profiles can contain secrets", f.admin)
	case (f.cert == "") != (f.key == ""):
		return cli.Usagef("--tls-cert and --tls-key: want both or none")
	case f.maxConnections < 1:
		return cli.Usagef("--max-connections must be 1 or more")
	case f.options.MaxStreams < 1:
		return cli.Usagef("--max-streams must be 1 or more")
	case slices.ContainsFunc(f.noAlert, func(pattern string) bool { _, err := nameMatches(pattern, ""); return err != nil }):
		return cli.Usagef("--no-alert: a [ in a pattern needs a ]; * is any text")
	case f.options.MaxTTL == 0 || f.options.MaxWait == 0: // to the API that is its default
		return cli.Usagef("--max-ttl and --max-wait must be more than 0")
	case f.options.TerraformTTL > f.options.MaxTTL:
		return cli.Usagef("--terraform-ttl is %v, more than --max-ttl, %v", f.options.TerraformTTL, f.options.MaxTTL)
	}
	f.options.Grace = cmp.Or(f.options.Grace, time.Nanosecond)
	for _, text := range f.proxies {
		network, err := netip.ParsePrefix(text)
		if a, bad := netip.ParseAddr(text); bad == nil {
			network, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return cli.Usagef("--trusted-proxy %s: want an address or a network such as 10.0.0.0/8", text)
		}
		f.options.TrustedProxies = append(f.options.TrustedProxies, network)
	}
	return nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, cli.Exit(cli.ExitUnreachable, fmt.Errorf("%s is in use; port 0 is any free port", address))
	case err != nil:
		return nil, cli.Usagef("cannot listen on %s: %v", address, err)
	}
	return l, nil
}

// pagesOf are the pages of a Client, with the past as the journal has it. A base path
// that is a mistake in a program may be a typing error on a command line.
func (f *serveFlags) pagesOf(client *holdfast.Client, store driver.Store, prefix string) (pages http.Handler, err error) {
	defer func() {
		if refusal := recover(); refusal != nil {
			text := strings.TrimPrefix(fmt.Sprint(refusal), "holdfast/dashboard: ")
			err = cli.Usagef("%s", strings.ReplaceAll(text, "Options.BasePath", "--base-path"))
		}
	}()
	return dashboard.Handler(admin.Of(client), &dashboard.Options{
		BasePath: f.options.BasePath, ReadOnly: f.options.ReadOnly,
		Journal: dashboard.JournalIn(store, prefix), Diagnose: f.options.Diagnose, Authorize: onlyAdmins,
	}), nil
}

// onlyAdmins may revoke and steal by the pages, as by the API.
func onlyAdmins(r *http.Request, _ dashboard.Action) error {
	if auth.PrincipalOf(r).Role < auth.Admin {
		return errors.New("this needs a token with the role admin")
	}
	return nil
}

// excepted reports whether no alert is about a name.
func (f *serveFlags) excepted(name string) bool {
	return slices.ContainsFunc(f.noAlert, func(pattern string) bool {
		matches, _ := nameMatches(pattern, name) // the pattern was checked
		return matches
	})
}

// nameMatches is path.Match with a * that also matches slashes.
func nameMatches(pattern, name string) (bool, error) {
	flat := strings.NewReplacer("/", ":")
	return path.Match(flat.Replace(pattern), flat.Replace(name))
}

// metricsOf serves what a Client does and sees: its own locks, the inventory of Redis, jobs, and
// this process. A registry of its own, so that nothing registers itself there unasked.
func (f *serveFlags) metricsOf(own *holdfastprom.Metrics, client *holdfast.Client, store driver.Store, prefix string, more ...prometheus.Collector) http.Handler {
	own.Watch(client)
	registry := prometheus.NewRegistry()
	registry.MustRegister(own, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(more...)
	if f.options.Tokens != nil {
		registry.MustRegister(tokensUp(f.options.Tokens))
	}
	if !f.silent {
		registry.MustRegister(holdfastprom.NewJobs(admin.Of(client), store, &holdfastprom.JobsOptions{Prefix: prefix, Except: f.excepted}))
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// tokensUp is a metric that is 0 while a line of the token file has a mistake.
func tokensUp(tokens *auth.Tokens) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_tokens_up", Help: "1: the token file has no mistake.",
	}, func() float64 {
		if _, wrong := tokens.Check(); wrong != nil {
			return 0
		}
		return 1
	})
}

func serveTokenCommand(a *cli.App) *cobra.Command {
	return a.Command("token ROLE LABEL", "Create a token for 'holdfast serve --tokens'", cli.Args(2, 2, "a ROLE and a LABEL, in quotes if it has spaces"), func(_ context.Context, args []string) error {
		role := map[string]auth.Role{"viewer": auth.Viewer, "user": auth.User, "admin": auth.Admin}[args[0]]
		secret, line, err := auth.NewToken(role, args[1]) // it refuses any other role
		if err != nil {
			return cli.Usagef("%v", err)
		}
		if _, err := fmt.Fprintln(a.Stdout, line); err != nil {
			return err
		}
		a.Complain("token (shown only now): " + secret)
		return nil
	})
}
