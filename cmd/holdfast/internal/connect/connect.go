// Package connect turns the URL of the flags into a session: a Client and its store. What
// goes wrong becomes an error with an exit code and with what to do.
package connect

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// Session is a Client, and what belongs to it: the store it goes through, and what the
// journal knows. All commands that ask or change a name get one by connect.
type Session struct {
	*holdfast.Client
	Admin *admin.Admin // of the same names
	Store driver.Store // for what is no lock: the journal, keys of our own
	Usual *Usual
	end   func()
}

// Close closes the Client and its store. The command itself reports what the Client could
// not send to Redis by then.
func (s *Session) Close() { s.end() }

// Beside starts work that runs together with a Client, before that is made on the store of
// the session, which it may wrap. It returns the function that ends the work: it is called
// after the Client is closed and before the store is.
type Beside func(*Session, *holdfast.Options) (after func())

// Open opens the server that the flags name and a Client on it, with Prefix,
// Owner and Logger filled in; the rest of o is the caller's. Errors carry their exit code:
// 64 for a wrong URL, 69 for a server that does not answer, 77 for one that refuses us.
func Open(ctx context.Context, a *cli.App, o holdfast.Options, with ...Beside) (*Session, error) {
	began := time.Now()
	store, err := OpenStore(ctx, a.RedisURL)
	if err != nil {
		return nil, a.NamingURL(err)
	}
	a.Detail("connected to %s within %s", cli.PublicURL(a.RedisURL), console.Duration(time.Since(began)))
	var level slog.LevelVar
	level.Set(a.Level())
	o.Prefix, o.Owner, o.Logger = a.Prefix, a.Owner, slog.New(a.Logger(&level))
	s := &Session{Store: store, Usual: newUsual(store, o.Prefix)}
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

// OpenStore dials serverURL and returns within ctx.
func OpenStore(ctx context.Context, serverURL string) (*rueidisstore.Store, error) {
	return OpenStoreWith(ctx, serverURL, nil)
}

// OpenStoreWith is OpenStore with options of the driver.
func OpenStoreWith(ctx context.Context, serverURL string, options *rueidisstore.Options) (*rueidisstore.Store, error) {
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

// OpenJournal connects to the server of the journal.
func OpenJournal(ctx context.Context, a *cli.App) (*rueidisstore.Store, func(), error) {
	store, err := OpenStore(ctx, a.RedisURL)
	if err != nil {
		return nil, nil, a.NamingURL(err)
	}
	return store, func() {
		if err := store.Close(); err != nil {
			a.Detail("closing the connection: %v", err)
		}
	}, nil
}
