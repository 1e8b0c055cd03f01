package holdfast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Code names what is to be said of a name. Its text is the same in JSON, in metrics
// and on the command line, and does not change.
type Code string

// The codes, most serious first.
const (
	CodeStoreError         Code = "store-error"          // it could not be looked at
	CodePossibleDeadlock   Code = "possible-deadlock"    // processes wait for each other in a circle, for 2 s or more; found by Survey alone
	CodeNoTTL              Code = "no-ttl"               // its key has no expiry: if whoever set it is dead nobody ever gets it
	CodeStarving           Code = "starving"             // the first in line waits though there is nothing to wait for, or far longer than it should
	CodeReadersBlockWriter Code = "readers-block-writer" // readers keep a writer waiting, and all behind it, longer than their ttl, or a minute
	CodeExpiring           Code = "expiring"             // less than a tenth is left of the ttl: its holder has stopped renewing
	CodeRenewalsLate       Code = "renewals-late"        // less than a third is left of the ttl, half of what a holder has that renews
	CodeHeldLong           Code = "held-long"            // held far longer than usual, see DiagnoseOptions.Typical
	CodeRevoking           Code = "revoking"             // its holder was asked to stop, and has not yet
	CodeUnmanaged          Code = "unmanaged"            // held by a client of another library
	CodeCooldown           Code = "cooldown"             // nobody holds it, and nobody gets it yet, see Mutex.MinHold
	CodeHeldHealthy        Code = "held-healthy"         // held, and renewed on time
)

// seriousness is the order of the codes; those before the first that is no problem
// need somebody's attention.
var seriousness = []Code{
	CodeStoreError, CodePossibleDeadlock, CodeNoTTL, CodeStarving, CodeReadersBlockWriter, CodeExpiring, CodeRenewalsLate, CodeHeldLong,
	CodeRevoking, CodeUnmanaged, CodeCooldown, CodeHeldHealthy,
}

// Codes are all codes, most serious first.
func Codes() []Code { return slices.Clone(seriousness) }

// Problem reports whether somebody should look after a name with this code. It is false
// for CodeRevoking, CodeUnmanaged, CodeCooldown and CodeHeldHealthy, and for what is no
// code.
func (c Code) Problem() bool {
	at := slices.Index(seriousness, c)
	return at >= 0 && at < slices.Index(seriousness, CodeRevoking)
}

// Diagnosis says of a name how it stands and why.
type Diagnosis struct {
	Code     Code   `json:"code"`
	Sentence string `json:"sentence"` // who, how long and why: lower case, without a full stop
	Action   string `json:"action"`   // what an operator can do, in the same form; empty: nothing is to be done
}

// DiagnoseOptions are what State.Diagnose can't see in Redis. Nil means that nothing
// is known.
type DiagnoseOptions struct {
	// Typical is how long a name is held as a rule; ok is false where that is not
	// known. Nil: it is known of no name.
	//
	// A name is held long when that is more than three times its typical time. Where
	// that is not known: when it is longer than 100 times its ttl or than an hour,
	// whichever is less, but no less than its ttl; an election's leader never.
	Typical func(name string) (typical time.Duration, ok bool)
}

func (o *DiagnoseOptions) typical(name string) (time.Duration, bool) {
	if o == nil || o.Typical == nil {
		return 0, false
	}
	typical, ok := o.Typical(name)
	return typical, ok && typical > 0
}

// Diagnose says how a name stands, most serious first. It asks nobody: the same State
// gives the same answer. A free name that nobody waits for gives nothing. A circle of
// processes that wait for each other is found by Survey alone.
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
	case h.Foreign:
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

// Who is how people call a holder: its label, and what its Details tell more.
func (h *Holder) Who() string {
	if h.Foreign {
		return "a client of another library"
	}
	return whoIs(h.Owner, h.Details)
}

// whoIs is "ci-7 (alice, pid 4121 on web-3)", without what the label says already.
func whoIs(owner string, d *Details) string {
	owner = given(owner, "somebody without a label")
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
