package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// session is a Client, and what belongs to it: the store it goes through, and what the
// journal knows. All commands that ask or change a name get one by connect.
type session struct {
	*holdfast.Client
	store holdfast.Store // for what is no lock: the journal, keys of our own
	usual *usual
	end   func()
}

// Close closes the Client and its store. The command itself reports what the Client could
// not send to Redis by then.
func (s *session) Close() { s.end() }

// beside starts work that runs together with a Client, before that is made on the store of
// the session, which it may wrap. It returns the function that ends the work: it is called
// after the Client is closed and before the store is.
type beside func(*session, *holdfast.Options) (after func())

// connect opens the server that the flags name and a Client on it, with Prefix,
// Owner and Logger filled in; the rest of o is the caller's. Errors carry their exit code:
// 64 for a wrong URL, 69 for a server that does not answer, 77 for one that refuses us.
func (a *app) connect(ctx context.Context, o holdfast.Options, with ...beside) (*session, error) {
	began := time.Now()
	store, err := openStore(ctx, a.redisURL)
	if err != nil {
		return nil, a.namingURL(err)
	}
	a.detail("connected to %s within %s", publicURL(a.redisURL), duration(time.Since(began)))
	var closing atomic.Bool
	o.Prefix, o.Owner, o.Logger = a.prefix, a.owner, slog.New(untilClosing{a.logger(), &closing})
	s := &session{store: store, usual: newUsual(store, o.Prefix)}
	var after []func()
	for _, begin := range with {
		after = append(after, begin(s, &o))
	}
	s.end = func() {
		closing.Store(true)
		if s.Client != nil {
			if err := s.Client.Close(); err != nil {
				a.detail("closed, but Redis did not confirm it: %s", reason(err))
			}
		}
		for _, end := range after {
			end()
		}
		if err := store.Close(); err != nil {
			a.detail("closing the connection: %v", err)
		}
	}
	if s.Client, err = newClient(s.store, &o); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// newClient makes a usage error of the panic by which New refuses options: what
// is a mistake in a program may be a typing error on a command line.
func newClient(store driver.Store, o *holdfast.Options) (client *holdfast.Client, err error) {
	defer func() {
		if refusal := recover(); refusal != nil {
			text := strings.TrimPrefix(fmt.Sprint(refusal), "holdfast: ")
			err = usagef("%s", strings.ReplaceAll(text, "Options.Prefix", "--prefix"))
		}
	}()
	return holdfast.New(store, o), nil
}

// openStore dials serverURL and returns within ctx.
func openStore(ctx context.Context, serverURL string) (*rueidisstore.Store, error) {
	return openStoreWith(ctx, serverURL, nil)
}

func openStoreWith(ctx context.Context, serverURL string, options *rueidisstore.Options) (*rueidisstore.Store, error) {
	type opened struct {
		store *rueidisstore.Store
		err   error
	}
	if _, err := rueidisstore.ParseURL(serverURL); err != nil {
		return nil, usagef("the URL: %s", cmp.Or(schemeError(serverURL), strings.TrimPrefix(err.Error(), "rueidisstore: url: ")))
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

// openJournal connects to the server of the journal.
func (a *app) openJournal(ctx context.Context) (*rueidisstore.Store, func(), error) {
	store, err := openStore(ctx, a.redisURL)
	if err != nil {
		return nil, nil, a.namingURL(err)
	}
	return store, func() {
		if err := store.Close(); err != nil {
			a.detail("closing the connection: %v", err)
		}
	}, nil
}

// untilClosing is a slog.Handler that ends when closing is set. By then the command that
// failed has reported what the Client could not send to Redis.
type untilClosing struct {
	slog.Handler
	closing *atomic.Bool
}

func (u untilClosing) Enabled(ctx context.Context, level slog.Level) bool {
	return !u.closing.Load() && u.Handler.Enabled(ctx, level)
}

func (u untilClosing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return untilClosing{u.Handler.WithAttrs(attrs), u.closing}
}

func (u untilClosing) WithGroup(name string) slog.Handler {
	return untilClosing{u.Handler.WithGroup(name), u.closing}
}
