package holdfast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Code identifies a diagnosis. Its text is the same in JSON, in metrics and on the
// command line, and does not change.
type Code string

// The codes, most serious first.
const (
	CodeStoreError         Code = "store-error"          // the name could not be inspected
	CodePossibleDeadlock   Code = "possible-deadlock"    // processes have waited for each other in a circle for 2 s or more; found by Survey only
	CodeNoTTL              Code = "no-ttl"               // the key has no expiry: if its owner is dead the name stays locked
	CodeStarving           Code = "starving"             // the first waiter waits for a free name, or far longer than it should
	CodeReadersBlockWriter Code = "readers-block-writer" // readers keep a writer waiting longer than their ttl, or a minute
	CodeExpiring           Code = "expiring"             // less than a tenth of the ttl remains: the holder has stopped renewing
	CodeRenewalsLate       Code = "renewals-late"        // less than a third of the ttl remains, half of the normal minimum
	CodeHeldLong           Code = "held-long"            // held far longer than usual, see DiagnoseOptions.Typical
	CodeRevoking           Code = "revoking"             // the holder was asked to stop and has not stopped yet
	CodeUnmanaged          Code = "unmanaged"            // held by a client of another library
	CodeCooldown           Code = "cooldown"             // in cool-down: not held and not available yet, see Mutex.MinHold
	CodeHeldHealthy        Code = "held-healthy"         // held, and renewed on time
)

// seriousness is the order of the codes; those before the first that is no problem
// need somebody's attention.
var seriousness = []Code{
	CodeStoreError, CodePossibleDeadlock, CodeNoTTL, CodeStarving, CodeReadersBlockWriter, CodeExpiring, CodeRenewalsLate, CodeHeldLong,
	CodeRevoking, CodeUnmanaged, CodeCooldown, CodeHeldHealthy,
}

// Codes returns all codes, most serious first.
func Codes() []Code { return slices.Clone(seriousness) }

// Problem reports whether a name with this code needs an operator.
func (c Code) Problem() bool {
	at := slices.Index(seriousness, c)
	return at >= 0 && at < slices.Index(seriousness, CodeRevoking)
}

// Diagnosis is one statement on the state of a name.
type Diagnosis struct {
	Code     Code   `json:"code"`
	Sentence string `json:"sentence"` // holder, duration and reason: lower case, no full stop
	Action   string `json:"action"`   // what an operator can do, in the same form; empty if nothing is to be done
}

// DiagnoseOptions are facts for a diagnosis that Redis does not store. Nil means that
// none is known.
type DiagnoseOptions struct {
	// Typical returns how long a name is usually held; ok is false if that is unknown.
	// Nil means unknown for all names.
	//
	// A name is held long after three times its typical time. If that is unknown, the
	// limit is the less of 100 ttls and one hour, but at least one ttl. The leader of
	// an election is never held long.
	Typical func(name string) (typical time.Duration, ok bool)
}

func (o *DiagnoseOptions) typical(name string) (time.Duration, bool) {
	if o == nil || o.Typical == nil {
		return 0, false
	}
	typical, ok := o.Typical(name)
	return typical, ok && typical > 0
}

// Diagnose returns the diagnoses of the name, most serious first. It does not contact
// Redis. A free name without waiters has none. Only [Client.Survey] finds processes
// that wait for each other in a circle.
func (s *State) Diagnose(o *DiagnoseOptions) []Diagnosis {
	found := s.aboutWaiters(o)
	h := s.Holder
	if h != nil && h.Remaining < 0 {
		found = append(found, s.noTTL())
	}
	switch {
	case h == nil || h.Cooldown && h.Remaining < 0:
	case h.Cooldown:
		found = append(found, s.resting())
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

func problemOf(all []Diagnosis) *Diagnosis {
	for i := range all {
		if all[i].Code.Problem() {
			return &all[i]
		}
	}
	return nil
}

// Describe returns the label of the holder, and what its [Details] add.
func (h *Holder) Describe() string {
	if h.Foreign {
		return "a client of another library"
	}
	return whoIs(h.Owner, h.Details)
}

// whoIs is "ci-7 (alice, pid 4121 on web-3)", without what the label says already.
func whoIs(owner string, d *Details) string {
	owner = given(owner, "a process without a label")
	if d == nil {
		return owner
	}
	rest := *d
	if rest.Host != "" && strings.Contains(owner, rest.Host) {
		rest.Host = ""
	}
	if strings.HasSuffix(owner, ":"+itoa(int64(rest.PID))) {
		rest.PID = 0
	}
	if more := rest.String(); more != "" {
		return owner + " (" + more + ")"
	}
	return owner
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
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// shellWord is a name as one word of a command line, whatever it holds.
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
