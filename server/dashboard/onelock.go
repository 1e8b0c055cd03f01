package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast"
)

// lockPage is everything about one name.
type lockPage struct {
	Name     string
	Unknown  bool
	Blind    bool // of no name anything was seen yet
	Row      lockRow
	Kind     string
	Use      string // of a shared kind: how much of it is used
	Term     int64
	Token    int64
	Seen     *stamp
	Holders  []holderCard
	Waiters  []waiterRow
	More     int // waiters that are not shown
	Findings []finding
	Healthy  string // what is to be said if there are none
	Timeline *timeline
	Journal  bool // and it has this name
	Act      *actForm
	NoAct    string // why there is no form
	Done     string
	Refused  *refusal
}

// holderCard is one who holds the name.
type holderCard struct {
	Owner, Hash, Part string
	Foreign, Cooldown bool
	Revoked           string
	Details           []detail
	Held              string
	HeldMS            int64
	TTL               string
	Bar               *ttlBar
}

// detail is something a process tells of itself.
type detail struct{ Label, Text string }

func detailsOf(d *holdfast.Details) (all []detail) {
	if d == nil {
		return nil
	}
	pid := ""
	if d.PID > 0 {
		pid = strconv.Itoa(d.PID)
	}
	for _, one := range []detail{{"Host", d.Host}, {"Pid", pid}, {"User", d.User}, {"Program", d.Program}, {"Command", d.Command}, {"Note", d.Note}} {
		if one.Text != "" {
			all = append(all, detail{one.Label, visible(one.Text)})
		}
	}
	return all
}

// waiterRow is one in line.
type waiterRow struct {
	Position  int
	Owner     string
	Hash      string
	Part      string
	Waited    string
	WaitedMS  int64
	Listening bool
	About     string
}

// actForm is what Revoke and Steal need. Of a shared kind one of Holders is to be chosen.
type actForm struct {
	Name, Shown, Tenure, Owner string
	Holders                    []holderCard
}

// refusal is why nothing was done.
type refusal struct{ Sentence, Verb, Reason, Tenure string }

// verbForm is one of the two forms; of one that was refused the reason that was typed and
// the holder that was chosen are kept.
type verbForm struct {
	Act                  *actForm
	Verb, Reason, Chosen string
}

func newForm(act *actForm, verb string, refused *refusal) verbForm {
	f := verbForm{Act: act, Verb: verb}
	if refused != nil && refused.Verb == verb {
		f.Reason, f.Chosen = refused.Reason, refused.Tenure
	}
	return f
}

// mostWaiters is how many of a line are shown.
const mostWaiters = 50

func (d *board) lock(r *http.Request, p *picture) view {
	q := r.URL.Query()
	v := d.lockView(p, q.Get("name"))
	shown := v.data.(*lockPage)
	what := "name"
	if k := holdfast.Kind(shown.Kind); k == holdfast.KindSemaphore || k == holdfast.KindRWMutex {
		what = "lease"
	}
	switch notified, _ := strconv.Atoi(q.Get("notified")); {
	case q.Get("did") == string(Revoke) && notified > 0:
		shown.Done = "The holder was asked to stop. The next waiter gets the name when the holder releases it, or when a whole ttl has passed."
	case q.Get("did") == string(Revoke):
		shown.Done = "Revoked, but the holder has no subscription: it learns of this at its next renewal, within about a third of its ttl."
	case q.Get("did") == string(Steal):
		shown.Done = "Stolen: the " + what + " was taken from its holder. The old holder may go on working until it learns of this, at the latest until its deadline."
	}
	return v
}

func (d *board) lockView(p *picture, name string) view {
	v := view{template: "lock", title: visible(name), active: "Locks"}
	page := &lockPage{Name: name}
	v.data = page
	l := p.byName[name]
	if name != "" { // a journal would tell of all names
		page.Timeline, page.Journal = d.timeline(name, l)
	}
	if l == nil {
		page.Unknown, page.Blind = true, name != "" && p.blind()
		if name == "" {
			v.title, v.status = "Which lock?", http.StatusNotFound
			return v
		}
		if len(page.Timeline.Holds) == 0 && p.err == nil && !page.Blind {
			v.status = http.StatusNotFound
		}
		return v
	}
	page.Row, page.Findings, page.Healthy, page.Token, page.Seen = d.row(l), l.findings, l.healthy, l.Token, ago(l.seen)
	page.Kind, page.Term = cmp.Or(kindOf(l), "mutex"), l.Term
	if l.Size > 0 {
		page.Use = strconv.Itoa(l.Used) + " of " + plural(l.Size, "permit")
	}
	for _, h := range l.holders()[:min(len(l.holders()), mostWaiters)] {
		page.Holders = append(page.Holders, cardOf(h, l.seen))
	}
	if h := l.Holder; h != nil && h.Cooldown {
		page.Holders = append(page.Holders, cardOf(*h, l.seen))
	}
	for i, w := range l.Waiters[:min(len(l.Waiters), mostWaiters)] {
		waited := w.Waited + time.Since(l.seen)
		page.Waiters = append(page.Waiters, waiterRow{i + 1, labelOf(w.Owner), w.Hash, partOf(w.Part), length(waited), waited.Milliseconds(), w.Listening, visible(w.Details.String())})
	}
	page.More = l.Waiting - len(page.Waiters)
	page.Act, page.NoAct = d.form(l, page.Holders)
	return v
}

// form is what may be done to a lock, or why nothing.
func (d *board) form(l *lock, holders []holderCard) (*actForm, string) {
	h := l.Holder
	switch {
	case !l.held():
		return nil, ""
	case d.quorum() != "":
		return nil, "Leases on a quorum can't be revoked or stolen. Stop the process: then its lease ends with its ttl."
	case d.options.ReadOnly:
		return nil, "This dashboard is read-only. On the command line, use holdfast revoke or holdfast steal."
	case d.options.Authorize == nil:
		return nil, "This dashboard can't revoke or steal: Options.Authorize is not set. On the command line, use holdfast revoke or holdfast steal."
	case l.Kind != holdfast.KindMutex:
		return &actForm{Name: l.Name, Shown: visible(l.Name), Holders: holders}, ""
	case h.Foreign:
		return nil, "The holder is a client of another library, so it can't be asked to stop, and the name can't be stolen. Stop the program that set the key; if it is dead, delete the key in Redis."
	}
	return &actForm{Name: l.Name, Shown: visible(l.Name), Tenure: h.Hash, Owner: ownerName(h)}, ""
}

func cardOf(h holdfast.Holder, seen time.Time) holderCard {
	c := holderCard{Owner: ownerName(&h), Hash: h.Hash, Part: partOf(h.Part), Foreign: h.Foreign, Cooldown: h.Cooldown, Revoked: visible(h.Revoked), Details: detailsOf(h.Details), Bar: newBar(&h, seen)}
	if h.Held > 0 {
		held := h.Held + time.Since(seen)
		c.Held, c.HeldMS = length(held), held.Milliseconds()
	}
	if h.TTL > 0 {
		c.TTL = length(h.TTL)
	}
	return c
}

// partOf says what one has or wants of a shared lock.
func partOf(p holdfast.Part) string {
	switch {
	case p.Permits > 0:
		return plural(p.Permits, "permit")
	case p.Reads:
		return "reads"
	case p.Writes:
		return "writes"
	}
	return ""
}

// timeline is who held a name when.
type timeline struct {
	From, To *stamp
	Lanes    []lane
	Holds    []holdRow // the newest first
}

// lane is a line of bars that do not overlap.
type lane struct{ Bars []bar }

// bar is a hold; its place is in percent.
type bar struct {
	X, Width string
	Colour   int // 0 to 7, by owner
	Label    string
	Title    string
	ends     time.Time
}

// holdRow is a hold in words.
type holdRow struct {
	Owner  string
	Colour int
	From   *stamp
	Lasted string
	Waited string
	End    string
}

const (
	mostLanes   = 8
	mostHoldRow = 20
)

// holdNow is the hold of a mutex that goes on.
func holdNow(l *lock) *hold {
	if l == nil || !l.held() || l.Kind != holdfast.KindMutex {
		return nil
	}
	return &hold{owner: ownerName(l.Holder), from: given(l), undated: l.Holder.Foreign}
}

// timeline is the journal's, or without it what was seen.
func (d *board) timeline(name string, l *lock) (t *timeline, written bool) {
	var holds []hold
	d.sampler.remembers(func(p *past) { holds = slices.Clone(p.holds[name]) })
	if d.options.Journal != nil {
		ctx, cancel := context.WithTimeout(context.Background(), firstLook)
		defer cancel()
		if entries, err := d.recent.of(ctx, d.options.Journal, name); err == nil && len(entries) > 0 {
			holds = holdsOf(entries, holdNow(l))
			written = true
		}
	}
	return newTimeline(holds, time.Now()), written
}
