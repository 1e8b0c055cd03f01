// Package connect turns the URL of the flags into a session: a Client and its store. Its errors
// have an exit code and say what to do.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
)

// Session is a Client, and what belongs to it: the store it goes through, and what the
// journal knows. All commands that ask or change a name get one by connect.
type Session struct {
	*holdfast.Client
	Admin *admin.Admin      // of the same names
	Store driver.Store      // for what is no lock: the journal, keys of our own
	Usual *Usual            // of one name
	Known *diagnose.Options // of all names
	end   func()
}

// Close closes the Client and its store. The command itself reports what the Client could
// not send to Redis by then.
func (s *Session) Close() { s.end() }

// HidesWaiters is [doctor.HidesWaiters] of the server.
func (s *Session) HidesWaiters(ctx context.Context, survey *admin.Survey) error {
	return doctor.HidesWaiters(ctx, s.Admin, survey)
}

// Beside starts work that runs together with a Client, before that is made on the store of
// the session, which it may wrap. It returns the function that ends the work: it is called
// after the Client is closed and before the store is.
type Beside func(*Session, *holdfast.Options) (after func())

// Open opens the server that the flags name and a Client on it, with Prefix,
// Owner and Logger filled in; the rest of o is the caller's. Errors carry their exit code:
// 64 for a wrong URL, 69 for a server that does not answer, 77 for one that refuses us.
func Open(ctx context.Context, a *cli.App, o holdfast.Options, with ...Beside) (*Session, error) {
	return OpenAgain(ctx, a, nil, o, with...)
}

// Again says how OpenAgain retries after an error that may pass.
type Again struct {
	For     time.Duration
	Endless bool        // without For
	Failed  func(error) // called with each error that is not returned, and when an answer is late
}

// OpenAgain is like Open, and retries as again says. A nil Again means one attempt.
func OpenAgain(ctx context.Context, a *cli.App, again *Again, o holdfast.Options, with ...Beside) (*Session, error) {
	began := time.Now()
	store, err := dial(ctx, a, again)
	if err != nil {
		return nil, a.NamingURL(err)
	}
	a.Detail("connected to %s within %s", cli.PublicURL(a.RedisURL), console.Duration(time.Since(began)))
	var level slog.LevelVar
	level.Set(a.Level())
	o.Prefix, o.Owner, o.Logger = a.Prefix, a.Owner, slog.New(a.Logger(&level))
	s := &Session{Store: store, Usual: newUsual(store, o.Prefix), Known: &diagnose.Options{Typical: journal.TypicalHolds(store, o.Prefix)}}
	var after []func()
	for _, begin := range with {
		after = append(after, begin(s, &o))
	}
	s.end = func() {
		level.Set(math.MaxInt) // the command that failed reports what could not be sent
		if s.Client != nil {
			if err := s.Client.Close(); err != nil {
				a.Detail("closed, but Redis did not confirm it: %s", cli.Reason(err))
			}
		}
		for _, end := range after {
			end()
		}
		if err := store.Close(); err != nil {
			a.Detail("closing the connection: %v", err)
		}
	}
	if s.Client, err = newClient(s.Store, &o); err != nil {
		s.end()
		return nil, err
	}
	s.Admin = admin.Of(s.Client)
	return s, nil
}

// On opens a session with default options, calls work, and closes the session.
func On(ctx context.Context, a *cli.App, work func(*Session) error) error {
	s, err := Open(ctx, a, holdfast.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	return work(s)
}

// newClient makes a usage error of the panic by which New refuses options: what
// is a mistake in a program may be a typing error on a command line.
func newClient(store driver.Store, o *holdfast.Options) (client *holdfast.Client, err error) {
	defer func() {
		if refusal := recover(); refusal != nil {
			text := strings.TrimPrefix(fmt.Sprint(refusal), "holdfast: ")
			err = cli.Usagef("%s", strings.ReplaceAll(text, "Options.Prefix", "--prefix"))
		}
	}()
	return holdfast.New(store, o), nil
}

// late is how long an attempt lasts before it is reported.
const late = time.Second

// dial opens a store, in as many attempts as again allows.
func dial(ctx context.Context, a *cli.App, again *Again) (*rueidisstore.Store, error) {
	serverURL := a.RedisURL
	if again == nil {
		return OpenURL(ctx, a, serverURL)
	}
	end := time.Now().Add(again.For)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		slow := time.AfterFunc(late, func() {
			again.Failed(fmt.Errorf("no answer from %s yet%s", cli.PublicURL(serverURL), withoutTLS(serverURL)))
		})
		store, err := OpenURL(ctx, a, serverURL)
		slow.Stop()
		if err == nil || !passes(err) || !again.Endless && time.Now().Add(pause).After(end) {
			return store, err
		}
		again.Failed(err)
		if !cli.Sleep(ctx, pause) {
			return nil, err
		}
	}
}

// passes reports whether another attempt may succeed after this error of OpenStore.
func passes(err error) bool {
	return cli.CodeOf(err) == cli.ExitUnreachable && !errors.Is(err, errNoRedis)
}

// errNoRedis means that something else than Redis answered.
var errNoRedis = errors.New("check host and port in the URL")

// OpenURL is OpenStore with the password of --redis-password-file, if serverURL has none. A new
// connection reads the file again. With Sentinel it does not: rueidis would send that password to
// the Sentinels, too.
func OpenURL(ctx context.Context, a *cli.App, serverURL string) (*rueidisstore.Store, error) {
	full, renewed, err := a.WithPassword(serverURL)
	if err != nil {
		return nil, err
	}
	return OpenStore(ctx, full, &rueidisstore.Options{Adjust: func(o *rueidis.ClientOption) {
		if renewed == nil || o.Sentinel.MasterSet != "" {
			return
		}
		user := o.Username
		o.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			return rueidis.AuthCredentials{Username: user, Password: renewed()}, nil
		}
	}})
}

// OpenStore dials serverURL and returns within ctx.
func OpenStore(ctx context.Context, serverURL string, options *rueidisstore.Options) (*rueidisstore.Store, error) {
	type opened struct {
		store *rueidisstore.Store
		err   error
	}
	if _, err := rueidisstore.ParseURL(serverURL); err != nil {
		return nil, cli.Usagef("the URL: %s", cmp.Or(schemeError(serverURL), strings.TrimPrefix(err.Error(), "rueidisstore: url: ")))
	}
	result := make(chan opened, 1)
	go func() {
		store, err := rueidisstore.Open(serverURL, options)
		result <- opened{store, err}
	}()
	select {
	case o := <-result:
		if o.err != nil {
			return nil, dialError(serverURL, o.err)
		}
		return o.store, nil
	case <-ctx.Done():
		go func() { // it dials on for a while
			if o := <-result; o.err == nil {
				o.store.Close()
			}
		}()
		return nil, dialError(serverURL, context.Cause(ctx))
	}
}

// dialError says what is wrong with the server, or with the URL that names it,
// and what to do about it.
func dialError(serverURL string, err error) error {
	shown, why := cli.PublicURL(serverURL), err
	if inner := errors.Unwrap(err); inner != nil {
		why = inner // without the address, which is in the URL
	}
	text := cli.Redact(strings.TrimPrefix(why.Error(), "rueidisstore: "), serverURL)
	_, answered := errors.AsType[driver.ServerError](err)
	switch {
	case cli.Denied(text):
		return cli.Exit(cli.ExitNoPerm, fmt.Errorf("%s refused: %s", shown, advised(text, err)))
	case answered && !notReady(text):
		return cli.Usagef("the URL does not fit the server %s: %s%s", shown, text, misfit(text))
	case answered:
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%s is not ready: %s", shown, advised(text, err)))
	case strings.Contains(text, "not part of a cluster"):
		return cli.Usagef("the URL does not fit the server: %s", text)
	case strings.Contains(text, "unknown message type: 21"): // the first byte of an alert
		return cli.Usagef("%s wants TLS: add an s to the scheme of its URL, as in rediss://", shown)
	case strings.Contains(text, "unknown message type"):
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%s is not a Redis server (%s): %w", shown, text, errNoRedis))
	}
	hint := ""
	if errors.Is(err, context.DeadlineExceeded) {
		text, hint = "timed out", withoutTLS(serverURL)
	}
	return cli.Exit(cli.ExitUnreachable, fmt.Errorf("no answer from %s: %s%s%s", shown, text, hint, OtherServer))
}

// withoutTLS is a hint for a server that does not answer: to a server without TLS, TLS is the
// beginning of a command.
func withoutTLS(serverURL string) string {
	if scheme, _, _ := strings.Cut(serverURL, "://"); strings.HasSuffix(scheme, "s") && scheme != "redis" {
		return "; if it has no TLS, use " + strings.TrimSuffix(scheme, "s") + "://"
	}
	return ""
}

// advised adds what to do to the text of a server's error.
func advised(text string, err error) string {
	fix := doctor.Fix(err)
	switch {
	case fix == "":
		return text
	case strings.HasPrefix(text, "NOAUTH"): // it speaks of HELLO, which people do not send
		text, fix = "NOAUTH", cli.NeedsPassword()
	case strings.HasPrefix(text, "WRONGPASS"):
		fix += ", or in the file of --redis-password-file"
	}
	return strings.TrimSuffix(text, ".") + ": " + fix
}

// schemeError says what is wrong with the scheme of a URL; empty: nothing. If a URL has no
// scheme, the message contains it only if it is an address, because it may be a password.
func schemeError(serverURL string) string {
	scheme, _, found := strings.Cut(serverURL, "://")
	switch {
	case !found && cli.Address.MatchString(serverURL):
		return fmt.Sprintf("no scheme in %q; want redis://%s", serverURL, serverURL)
	case !found:
		return "no scheme; want redis://host:port"
	}
	switch scheme {
	case "redis", "valkey", "unix", "sentinel", "cluster", "rediss", "valkeys", "sentinels", "clusters":
		return ""
	}
	return "unknown scheme; want redis://, valkey://, unix://, sentinel:// or cluster://, or with TLS rediss:// and so on"
}

// OtherServer is the end of a message about a server that does not answer, unless its URL was
// an argument.
const OtherServer = " (--redis or HOLDFAST_REDIS_URL selects another server, 'holdfast dev' starts one for tests)"

// notReady reports whether an answer means that the server cannot serve for a while.
func notReady(answer string) bool {
	return cli.ContainsAny(answer, "LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "TRYAGAIN", "READONLY", "max number of clients")
}

// misfit is a hint for an answer that does not fit the kind of server in the URL.
func misfit(answer string) string {
	switch {
	case strings.Contains(strings.ToUpper(answer), "'SENTINEL'"), strings.Contains(strings.ToUpper(answer), "`SENTINEL`"):
		return ": it is not a Sentinel; for a single server use redis://"
	case strings.Contains(answer, "No such master"):
		return ": the name at the end of the URL is that of a 'sentinel monitor' line; SENTINEL MASTERS lists them"
	case strings.Contains(answer, "without any password"):
		return ": " + doctor.Fix(driver.ServerError(answer))
	case strings.Contains(answer, "DB index"):
		return ": the number at the end of the URL is the database; this server does not have it"
	}
	return ""
}
