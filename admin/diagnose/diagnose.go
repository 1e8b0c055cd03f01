// Package diagnose explains the states that package admin reads. It finds the names that
// need an operator, and says in plain sentences why, and what to do. It does no I/O: it
// looks only at what it is given.
package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-go/holdfast/admin"
)

// Code identifies a diagnosis. Its text is the same in JSON, in metrics and on the
// command line, and does not change.
type Code string

// The codes, most serious first.
const (
	StoreError         Code = "store-error"          // the name could not be inspected
	PossibleDeadlock   Code = "possible-deadlock"    // processes have waited for each other in a circle for 2 s or more; found by Survey, and by Around
	NoTTL              Code = "no-ttl"               // the key has no expiry: if its owner is dead the name stays locked
	Starving           Code = "starving"             // the first waiter waits for a free name, or far longer than it should
	ReadersBlockWriter Code = "readers-block-writer" // readers keep a writer waiting longer than their ttl, or a minute
	Expiring           Code = "expiring"             // less than a tenth of the ttl remains: the holder has stopped renewing
	RenewalsLate       Code = "renewals-late"        // less than a third of the ttl remains, half of the normal minimum
	HeldLong           Code = "held-long"            // held far longer than usual, see [Options.Typical]
	Revoking           Code = "revoking"             // the holder was asked to stop and has not stopped yet
	OtherVersion       Code = "other-version"        // a process with another version of holdfast uses it: this one cannot diagnose it
	Unmanaged          Code = "unmanaged"            // held by a client of another library
	Cooldown           Code = "cooldown"             // in cool-down: not held and not available yet, see Mutex.MinHold
	HeldHealthy        Code = "held-healthy"         // held, and renewed on time
)

// seriousness is the order of the codes; those before the first that is no problem
// need somebody's attention.
var seriousness = []Code{
	StoreError, PossibleDeadlock, NoTTL, Starving, ReadersBlockWriter, Expiring, RenewalsLate, HeldLong,
	Revoking, OtherVersion, Unmanaged, Cooldown, HeldHealthy,
}

// Codes returns all codes, most serious first.
func Codes() []Code { return slices.Clone(seriousness) }

// Problem reports whether a name with this code needs an operator.
func (c Code) Problem() bool {
	at := slices.Index(seriousness, c)
	return at >= 0 && at < slices.Index(seriousness, Revoking)
}

// Diagnosis is one statement on the state of a name.
type Diagnosis struct {
	Code     Code   `json:"code"`
	Sentence string `json:"sentence"` // holder, duration and reason: lower case, no full stop
	Action   string `json:"action"`   // what an operator can do, in the same form; empty if nothing is to be done
}

// Options are facts for a diagnosis that Redis does not store. Nil means that
// none is known.
type Options struct {
	// Typical returns how long a name is usually held; ok is false if that is unknown.
	// Nil means unknown for all names.
	//
	// A name is held long after Details.Expect of its holder. Without Expect, the limit
	// is three times the typical time, or an hour if that is unknown, but at least one
	// ttl. An election is never held long, nor is a name that may be an election
	// (State.Unreadable). Typical is called only for a name that
	// is held for more than a ttl, or whose first waiter waits for very long.
	Typical func(name string) (typical time.Duration, ok bool)
}

func (o *Options) typical(name string) (time.Duration, bool) {
	if o == nil || o.Typical == nil {
		return 0, false
	}
	typical, ok := o.Typical(name)
	return typical, ok && typical > 0
}

// State returns the diagnoses of a name, most serious first. A free name without waiters
// has none. Only [Survey] finds processes that wait for each other in a circle, and [Around]
// nested commands that do.
func State(state *admin.State, o *Options) []Diagnosis {
	s := subject{state}
	if s.Version > 0 {
		return []Diagnosis{s.otherVersion()}
	}
	found := s.aboutWaiters(o)
	h := s.Holder
	if h != nil && h.Remaining < 0 {
		found = append(found, s.noTTL())
	}
	switch {
	case h == nil || h.Cooldown && h.Remaining < 0:
	case h.Cooldown:
		found = append(found, s.cooldown())
	case h.Foreign && h.Remaining >= 0:
		found = append(found, s.unmanaged())
	case h.Remaining >= 0:
		found = append(found, s.aboutHolders(o)...)
	}
	slices.SortStableFunc(found, func(a, b Diagnosis) int {
		return cmp.Compare(slices.Index(seriousness, a.Code), slices.Index(seriousness, b.Code))
	})
	return found
}

// Error returns the diagnosis of a name that could not be inspected.
func Error(err error) Diagnosis {
	return Diagnosis{
		StoreError, "it cannot be inspected: " + strings.TrimPrefix(err.Error(), "holdfast: "),
		"run 'holdfast doctor': it checks the server, the network and the rights of its user",
	}
}

// Problem returns the most serious diagnosis that needs an operator, or nil.
func Problem(all []Diagnosis) *Diagnosis {
	for i := range all {
		if all[i].Code.Problem() {
			return &all[i]
		}
	}
	return nil
}

// holders returns all holders that are listed.
func holders(s *admin.State) []admin.Holder {
	if len(s.Holders) == 0 && s.Holder != nil {
		return []admin.Holder{*s.Holder}
	}
	return s.Holders
}

// each names some of many.
func each(whos []string, all int) string {
	const most = 3
	if all <= most && all == len(whos) {
		if last := len(whos) - 1; last > 0 {
			return strings.Join(whos[:last], ", ") + " and " + whos[last]
		}
		return strings.Join(whos, "")
	}
	n := min(len(whos), most-1)
	return fmt.Sprintf("%s and %d more", strings.Join(whos[:n], ", "), all-n)
}

// rough is a duration for people who look at minutes and hours.
func rough(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// shellWord quotes a name as one word of a command line.
func shellWord(name string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:@%+,=", r)
	}
	if name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return name
	}
	word := "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	if strings.HasPrefix(name, "-") {
		return "-- " + word
	}
	return word
}
