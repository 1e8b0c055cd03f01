package admin

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const (
	maxLone      = 10_000 // lock keys that are kept until their values are read
	valuesAtOnce = 100    // lock keys that one script reads
	valueLength  = 128    // bytes of a value that are read: an id has no more before its owner ends
)

// listing lists the names in one store.
type listing struct {
	caller  *call.Caller
	options *Options
	prefix  string // of the names
}

// names yields each name once, from one SCAN. Most names have a key beside the lock key, which
// shows that holdfast uses them. Only the values of lone lock keys are read: these may be of
// another program.
func (l listing) names(ctx context.Context) iter.Seq2[string, error] {
	start := l.options.Prefix + l.prefix
	return func(yield func(string, error) bool) {
		seen, lone := make(map[string]struct{}), make(map[string]struct{})
		readLone := func() bool {
			held, err := l.held(ctx, slices.Collect(maps.Keys(lone)))
			clear(lone)
			for _, name := range held {
				seen[name] = struct{}{}
				if !yield(name, nil) {
					return false
				}
			}
			if err != nil {
				yield("", err)
			}
			return err == nil
		}
		for key, err := range l.caller.Store.Scan(ctx, keyspace.Listing(start)) {
			if err != nil {
				yield("", err)
				return
			}
			name, used, ok := keyspace.NameOf(l.options.Prefix, key)
			if _, twice := seen[name]; twice || !ok || !strings.HasPrefix(name, l.prefix) {
				continue
			}
			switch {
			case used:
				delete(lone, name)
				seen[name] = struct{}{}
				if !yield(name, nil) {
					return
				}
			case start != "":
				if lone[name] = struct{}{}; len(lone) == maxLone && !readLone() {
					return
				}
			}
		}
		readLone()
	}
}

// held returns those of some names whose lock keys have a value of holdfast; with a prefix,
// also those with a foreign value. It leaves out a name whose key the server's user may not read.
func (l listing) held(ctx context.Context, names []string) (held []string, err error) {
	atOnce := valuesAtOnce
	if l.caller.Store.Sharded() {
		atOnce = 1 // their keys have different slots
	}
	values, err := l.values(ctx, names, atOnce)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	for i, value := range values {
		value, is := strings.CutPrefix(value, "=")
		_, ours := keyspace.ParseID(value)
		if is && (ours || l.prefix != "" || keyspace.IsCooldown(value) || keyspace.OtherVersion(value) > 0) {
			held = append(held, names[i])
		}
	}
	return held, err
}

// values reads the values of the lock keys of names, several with one script.
func (l listing) values(ctx context.Context, names []string, atOnce int) ([]string, error) {
	var calls []driver.Call
	for some := range slices.Chunk(names, atOnce) {
		c := driver.Call{Script: script.Values, Args: []string{strconv.Itoa(valueLength)}}
		for _, name := range some {
			c.Keys = append(c.Keys, l.options.Prefix+name)
		}
		calls = append(calls, c)
	}
	var all []string
	for i, r := range l.caller.Many(ctx, l.options.Timeout, calls) {
		n := len(calls[i].Keys)
		said, refused := wire.AsServerError(r.Err)
		switch {
		case refused && wire.Denied(string(said)) && n == 1:
			all = append(all, "")
		case refused && wire.Denied(string(said)): // perhaps for one of the keys
			some, err := l.values(ctx, names[len(all):len(all)+n], 1)
			if all = append(all, some...); err != nil {
				return all, err
			}
		case r.Err != nil:
			return all, r.Err
		case len(r.Reply) != n+1 || r.Reply[0] != "values":
			return all, fmt.Errorf("the script values answered %.100q", r.Reply)
		default:
			all = append(all, r.Reply[1:]...)
		}
	}
	return all, nil
}
