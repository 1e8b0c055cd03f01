package main

import (
	"context"
	"strings"

	"github.com/holdfast-go/holdfast"
)

// checkSteal says what is wrong with --steal and --reason. A reason alone is none: a
// variable may have set it, for other commands.
func (o *runOptions) checkSteal(given func(flag string) bool) error {
	switch {
	case !given("steal"):
		return nil
	case !isHash(o.steal.tenure):
		return usagef("--steal wants the hash of the holder, 10 hex digits; 'holdfast show' prints it")
	case strings.TrimSpace(o.steal.reason) == "":
		return usagef("--steal needs --reason TEXT: the holder that loses the lock reads it")
	case o.every > 0:
		return usagef("--steal and --every exclude each other: a tick has no holder to take it from")
	case o.kind != kindOptions{permits: 1}:
		return usagef("--steal and --shared, --exclusive, --of exclude each other: use 'holdfast steal' for one of several holders")
	}
	return nil
}

// steal takes name from the holder that --steal means.
func (a *app) steal(ctx context.Context, client *session, name string, o runOptions) (*holdfast.Lease, error) {
	m := client.Mutex(name)
	m.MinHold = o.minHold
	lease, err := m.Steal(ctx, o.steal.tenure, o.steal.signed(a.owner))
	if err == nil {
		a.detail("took %s from tenure %s", visible(name), o.steal.tenure)
	}
	return lease, err
}
