package pages

import (
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/show"
)

// lockPage is everything about one name.
type lockPage struct {
	Name     string
	Unknown  bool
	Blind    bool // of no name anything was seen yet
	Row      lockRow
	Kind     string
	Use      string // of a shared kind: how much of it is used
	Token    int64
	Holders  []holderCard
	Waiters  []waiterRow
	More     int // waiters that are not shown
	Findings []seen.Finding
	Healthy  string // what is to be said if there are none
	Timeline *timeline
	Journal  bool // and it has this name
	Act      *actForm
	NoAct    string // why there is no form
	Done     string
	Refused  *Refusal
}

// holderCard shows one holder of the name.
type holderCard struct {
	Owner, Hash, Part string
	Foreign, Cooldown bool
	Revoked           string
	Details           []detail
	TTL               string
	Bar               *ttlBar
	since
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
			all = append(all, detail{one.Label, view.Text(one.Text)})
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

// Refusal is why nothing was done, and what was typed.
type Refusal struct{ Sentence, Verb, Reason, Tenure string }

// verbForm is one of the two forms; of one that was refused the reason that was typed and
// the holder that was chosen are kept.
type verbForm struct {
	Act                  *actForm
	Verb, Reason, Chosen string
}

func newForm(act *actForm, verb string, refused *Refusal) verbForm {
	f := verbForm{Act: act, Verb: verb}
	if refused != nil && refused.Verb == verb {
		f.Reason, f.Chosen = refused.Reason, refused.Tenure
	}
	return f
}

// mostWaiters is how many of a line are shown.
const mostWaiters = 50

// Lock is the page of one name.
func Lock(b *Board, r *http.Request, p *seen.Picture) Content {
	q := r.URL.Query()
	c, page := newLockPage(b, p, q.Get("name"))
	what := "name"
	if k := holdfast.Kind(page.Kind); k == holdfast.KindSemaphore || k == holdfast.KindRWMutex {
		what = "lease"
	}
	switch notified, _ := strconv.Atoi(q.Get("notified")); {
	case q.Get("did") == "revoke" && notified > 0:
		page.Done = "The holder was asked to stop. The next waiter gets the name when the holder releases it, or when a whole ttl has passed."
	case q.Get("did") == "revoke":
		page.Done = "Revoked, but the holder has no subscription: it learns of this at its next renewal, within about a third of its ttl."
	case q.Get("did") == "steal":
		page.Done = "Stolen: the " + what + " was taken from its holder. The old holder may go on working until it learns of this, at the latest until its deadline."
	}
	return c
}

// Refused is the page of a name after a form of it was refused.
func Refused(name string, status int, why Refusal) Page {
	return func(b *Board, _ *http.Request, p *seen.Picture) Content {
		c, page := newLockPage(b, p, name)
		c.status = status
		page.Refused = &Refusal{view.Text(why.Sentence), why.Verb, view.Text(why.Reason), why.Tenure}
		return c
	}
}

func newLockPage(b *Board, p *seen.Picture, name string) (Content, *lockPage) {
	c := Content{template: "lock", title: view.Text(name), active: "Locks"}
	page := &lockPage{Name: name}
	c.data = page
	l := p.ByName[name]
	if name == "" { // a journal would tell of all names
		c.title, c.status = "Which lock?", http.StatusNotFound
	} else {
		page.Timeline, page.Journal = timelineOf(b, name, l)
	}
	if l == nil {
		page.Unknown, page.Blind = true, name != "" && p.Blind()
		if name != "" && len(page.Timeline.Holds) == 0 && p.Err == nil && !page.Blind {
			c.status = http.StatusNotFound
		}
		return c, page
	}
	page.Row, page.Findings, page.Healthy, page.Token = newRow(l), l.Findings, l.Healthy, l.Token
	page.Kind = view.KindName(l.State)
	if l.Size > 0 {
		page.Use = strconv.Itoa(l.Used) + " of " + show.Plural(l.Size, "permit")
	}
	holders := l.Holding()
	holders = holders[:min(len(holders), mostWaiters)]
	if len(holders) == 0 && l.Holder != nil { // in cool-down
		holders = []admin.Holder{*l.Holder}
	}
	for _, h := range holders {
		page.Holders = append(page.Holders, newCard(h, l.Seen))
	}
	for i, w := range l.Waiters[:min(len(l.Waiters), mostWaiters)] {
		waited := w.Waited + time.Since(l.Seen)
		page.Waiters = append(page.Waiters, waiterRow{i + 1, show.Label(w.Owner), w.Hash, partOf(w.Part), show.Length(waited), waited.Milliseconds(), w.Listening, view.Text(w.Details.String())})
	}
	page.More = l.Waiting - len(page.Waiters)
	page.Act, page.NoAct = formOf(b, l, page.Holders)
	return c, page
}

// formOf is what may be done to a lock, or why nothing.
func formOf(b *Board, l *seen.Lock, holders []holderCard) (*actForm, string) {
	h := l.Holder
	switch {
	case !l.Held():
		return nil, ""
	case b.Quorum != "":
		return nil, "Leases on a quorum can't be revoked or stolen. Stop the process: then its lease ends with its ttl."
	case b.ReadOnly:
		return nil, "This dashboard is read-only. On the command line, use holdfast revoke or holdfast steal."
	case !b.MayAct:
		return nil, "This dashboard can't revoke or steal: Options.Authorize is not set. On the command line, use holdfast revoke or holdfast steal."
	case l.Kind != holdfast.KindMutex:
		return &actForm{Name: l.Name, Shown: view.Text(l.Name), Holders: holders}, ""
	case h.Foreign:
		return nil, "The holder is a client of another library, so it can't be asked to stop, and the name can't be stolen. Stop the program that set the key; if it is dead, delete the key in Redis."
	}
	return &actForm{Name: l.Name, Shown: view.Text(l.Name), Tenure: h.Hash, Owner: show.Owner(h)}, ""
}

func newCard(h admin.Holder, at time.Time) holderCard {
	c := holderCard{Owner: show.Owner(&h), Hash: h.Hash, Part: partOf(h.Part), Foreign: h.Foreign, Cooldown: h.Cooldown, Revoked: view.Text(h.Revoked), Details: detailsOf(h.Details), Bar: newBar(&h, at)}
	if h.Held > 0 {
		c.since = newSince(h.Held + time.Since(at))
	}
	if h.TTL > 0 {
		c.TTL = show.Length(h.TTL)
	}
	return c
}

// partOf says what one has or wants of a shared lock.
func partOf(p admin.Part) string {
	switch {
	case p.Permits > 0:
		return show.Plural(p.Permits, "permit")
	case p.Reads:
		return "reads"
	case p.Writes:
		return "writes"
	}
	return ""
}
