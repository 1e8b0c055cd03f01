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

// waiterName is the label of a waiter, with the details of its process.
func waiterName(w holdfast.Waiter) string {
	if w.Owner == "" {
		return "(no label)"
	}
	return visible(w.Describe())
}
