package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// Step is one thing that is about to travel.
type Step struct {
	Process int
	Kind    string // a script's name, "subscribe", or a push: "grant", "head", "recall"
	Push    bool
	ID      string // the id it speaks of
	Args    []string
	WAIT    time.Duration // the longest that a WAIT behind it may take; 0: there is none
	N       int           // how many of this kind the process had before
	OfID    int           // how many of them spoke of this id
}

// where names it, but for its number: by process, kind and nonce, so that the
// order of what is sent at one instant says nothing.
func (s Step) where() string {
	id := s.ID
	if part := strings.SplitN(id, ".", 3); len(part) == 3 {
		id = part[1]
	}
	kind := CanonicalScript(s.Kind)
	if s.Push {
		kind = CanonicalPush(s.Kind)
	}
	return fmt.Sprintf("p%d.%s.%s", s.Process, kind, id[:min(8, len(id))])
}

// Waits reports whether this is a lock that queues.
func (s Step) Waits() bool {
	return (s.Kind == "lock" || s.Kind == "shared_lock") && slices.Contains(s.Args, "wait")
}

// Queues is the fresh id that an unlock, or a rest, may queue, or "".
func (s Step) Queues() string {
	if s.Kind != "unlock" && s.Kind != "cooldown" {
		return ""
	}
	return gains(s.Kind, s.Args)
}

// gains is the id that a script may make a holder or a waiter, or give a token block
// to; "": none.
func gains(script string, args []string) string {
	switch {
	case script == "cooldown":
		return args[4]
	case script != "unlock":
		return args[0]
	case len(args) > 2:
		return args[2]
	}
	return ""
}

// Fate is what becomes of a step. The zero Fate is an instant, perfect network.
type Fate struct {
	Out  time.Duration // until it arrives: at the server, or a push at the process
	Back time.Duration // until the answer arrives

	Home time.Duration // until a caller whose time is up has gone

	LoseOut  bool               // it never arrives
	LoseBack bool               // it does, its answer never
	Torn     bool               // the connection is cut in the middle of its answer
	Reset    bool               // what is lost is told: the connection is reset
	Twice    bool               // it runs twice, the second answer counts: the client library sent it again
	Again    time.Duration      // not 0: it arrives once more, that much later
	Overtake bool               // a push may overtake those before it
	Refuse   driver.ServerError // the server refuses it
}

// What can become of a step, as it is counted.
const (
	late        = "late"
	answerLate  = "answer late"
	lostOut     = "request lost"
	cutOut      = "cut before the request is read"
	lostBack    = "answer lost"
	cutBack     = "cut after the script ran"
	torn        = "cut in the answer"
	twice       = "twice"
	again       = "again, later"
	overtakes   = "overtakes"
	refused     = "refused"
	muchDelayed = 1e7 // ns: what is longer is late
)

// CallFates and PushFates are what a run can do to a call, and to a push.
var (
	CallFates = []string{onTime, late, answerLate, lostOut, cutOut, lostBack, cutBack, torn, twice, again, refused}
	PushFates = []string{onTime, late, lostOut, twice, again, overtakes}
)

// Words say what becomes of a call.
func (f Fate) Words() []string { return f.words(false) }

// words say what becomes of a step.
func (f Fate) words(push bool) (words []string) {
	add := func(is bool, word string) {
		if is {
			words = append(words, word)
		}
	}
	if f.Refuse != "" && !f.LoseOut {
		return []string{refused}
	}
	add(f.Out > muchDelayed, late)
	add(f.LoseOut && (push || !f.Reset), lostOut)
	add(f.LoseOut && f.Reset && !push, cutOut)
	if !f.LoseOut {
		add(f.Twice, twice)
		add(f.Again > 0, again)
		add(push && f.Overtake, overtakes)
		add(!push && f.Back > muchDelayed, answerLate)
		add(!push && f.LoseBack && !f.Reset, lostBack)
		add(!push && f.LoseBack && f.Reset, cutBack)
		add(!push && f.Torn, torn)
	}
	if words == nil {
		words = []string{onTime}
	}
	return words
}
