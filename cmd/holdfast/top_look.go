package main

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast"
)

// lookAtAll reads all names with a prefix.
func (a *app) lookAtAll(ctx context.Context, client *session, prefix string) topSeen {
	survey, err := client.Survey(ctx, prefix)
	if err != nil {
		return topSeen{err: err}
	}
	var seen topSeen
	for _, n := range survey.Names {
		seen.rows = append(seen.rows, newTopRow(a.newView(n.State, n.Reasons)))
		if n.Err != nil {
			seen.refused = append(seen.refused, n.Err)
		}
	}
	return seen
}

// stateLines are what 'holdfast show' prints of a name.
func (a *app) stateLines(ctx context.Context, client *session, name string, colour bool) []string {
	state, err := a.look(ctx, client, name)
	if err != nil {
		return []string{visible(a.explain(err))}
	}
	var text bytes.Buffer
	printState(screen{w: &text, colour: colour}, state)
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
}

// newTopRow is a name with its worst problem.
func newTopRow(v *view) topRow {
	codes := holdfast.Codes()
	if len(v.reasons) == 0 { // free, without waiters
		return topRow{view: v, rank: len(codes)}
	}
	worst := v.reasons[0]
	return topRow{view: v, rank: slices.Index(codes, worst.Code), bad: worst.Code.Problem(), why: worst.Sentence}
}
