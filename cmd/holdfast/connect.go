package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

const defaultURL = "redis://127.0.0.1:6379"

// connect opens the server that the flags name and a Client on it, with Prefix,
// Owner and Logger filled in; the rest of o is the caller's. The function it
// returns closes both. Its errors carry their exit code: 64 for a URL that
// cannot be right, 69 for a server that does not answer, 77 for one that
// refuses us.
func (a *app) connect(ctx context.Context, o holdfast.Options) (*holdfast.Client, func(), error) {
	store, err := openStore(ctx, a.redisURL)
	if err != nil {
		return nil, nil, err
	}
	o.Prefix, o.Owner, o.Logger = a.prefix, a.owner, a.logger()
	client, err := newClient(store, &o)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	closeBoth := func() {
		if err := client.Close(); err != nil {
			a.complain(err)
		}
		if err := store.Close(); err != nil {
			a.complain(err)
		}
	}
	return client, closeBoth, nil
}

// newClient makes a usage error of the panic by which New refuses options: what
// is a mistake in a program may be a typing error on a command line.
func newClient(store holdfast.Store, o *holdfast.Options) (client *holdfast.Client, err error) {
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
	type opened struct {
		store *rueidisstore.Store
		err   error
	}
	if _, err := rueidisstore.ParseURL(serverURL); err != nil {
		return nil, usagef("the URL of the server: %s", redact(strings.TrimPrefix(err.Error(), "rueidisstore: url: "), serverURL))
	}
	result := make(chan opened, 1)
	go func() {
		store, err := rueidisstore.Open(serverURL, nil)
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

// dialError says what is wrong with the server, and what to do about it.
func dialError(serverURL string, err error) error {
	reason := redact(err.Error(), serverURL)
	if denied(err.Error()) {
		return &exitError{exitNoPerm, fmt.Errorf("%s refuses us: %s", publicURL(serverURL), reason)}
	}
	return &exitError{exitUnreachable, fmt.Errorf("no answer from %s: %s (--redis or HOLDFAST_REDIS_URL names another server, 'holdfast dev' starts one)",
		publicURL(serverURL), reason)}
}

// publicURL is serverURL as it may be shown: without user, password and query.
// It may be several hosts, which package net/url cannot read.
func publicURL(serverURL string) string {
	scheme, rest, ok := strings.Cut(serverURL, "://")
	if !ok {
		return "the server"
	}
	_, rest = splitUser(rest)
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + "://" + rest
}

// splitUser cuts user:password@ off, which ends at the last @.
func splitUser(rest string) (user, hosts string) {
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		return rest[:at], rest[at+1:]
	}
	return "", rest
}

// redact takes the URL as it was written, and the secrets in it, out of text.
func redact(text, serverURL string) string {
	if serverURL == "" {
		return text
	}
	text = strings.ReplaceAll(text, serverURL, publicURL(serverURL))
	_, rest, _ := strings.Cut(serverURL, "://")
	user, rest := splitUser(rest)
	_, password, _ := strings.Cut(user, ":")
	secrets := []string{password}
	_, query, _ := strings.Cut(rest, "?")
	for parameter := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(parameter, "="); strings.Contains(name, "password") {
			secrets = append(secrets, value)
		}
	}
	for _, secret := range secrets {
		plain, err := url.PathUnescape(secret)
		for _, form := range []string{secret, plain} {
			if form != "" && (err == nil || form == secret) {
				text = strings.ReplaceAll(text, form, "xxxxx")
			}
		}
	}
	return text
}
