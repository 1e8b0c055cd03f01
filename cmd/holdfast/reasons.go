package main

import (
	"strings"

	"github.com/holdfast-go/holdfast"
)

// reasonJSON is one thing to be said of a name; see jsonFieldsHelp.
type reasonJSON struct {
	Code     holdfast.Code `json:"code"`
	Problem  bool          `json:"problem"`
	Sentence string        `json:"sentence"`
	Action   string        `json:"action"`
}

func newReasonsJSON(reasons []holdfast.Diagnosis) []reasonJSON {
	out := make([]reasonJSON, len(reasons))
	for i, d := range reasons {
		out[i] = reasonJSON{d.Code, d.Code.Problem(), d.Sentence, d.Action}
	}
	return out
}

// processJSON is what stateJSON has more of the process behind a holder or waiter.
type processJSON struct {
	Client  string            `json:"client,omitempty"`
	Revoked string            `json:"revoked,omitempty"`
	Details *holdfast.Details `json:"details,omitempty"`
}

// problem is the codes that need attention, or nothing.
func (v *view) problem() string {
	var codes []string
	for _, d := range v.reasons {
		if d.Code.Problem() {
			codes = append(codes, string(d.Code))
		}
	}
	return strings.Join(codes, " ")
}

// printReasons prints the state of a name, and what to do.
func printReasons(s screen, line func(label, format string, args ...any), reasons []holdfast.Diagnosis) {
	for _, d := range reasons {
		code := string(d.Code)
		if d.Code.Problem() {
			code = s.paint(bad, code)
		}
		line("why", "%s: %s", code, visible(d.Sentence))
		if d.Action != "" {
			line("", "%s", visible(d.Action))
		}
	}
}

// printDetails prints the details of a process.
func printDetails(line func(label, format string, args ...any), d *holdfast.Details) {
	if d == nil {
		return
	}
	for _, field := range []struct{ label, text string }{
		{"process", d.String()}, {"program", d.Program}, {"command", d.Command}, {"note", d.Note},
	} {
		if field.text != "" {
			line(field.label, "%s", visible(field.text))
		}
	}
}

// waiterName is the label of a waiter, with the details of its process.
func waiterName(w holdfast.Waiter) string {
	if w.Owner == "" {
		return "(no label)"
	}
	return visible(w.Describe())
}
