package pages

import (
	"cmp"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/seen"
)

// lockPage is everything about one name.
type lockPage struct {
	*visit
	Name     string
	Lock     *seen.Lock     // nil: it was not seen
	Holders  []admin.Holder // that are shown; one in cool-down, too
	Waiters  []admin.Waiter // that are shown
	More     int            // waiters that are not
	Shared   bool           // several may hold it
	Tenure   string         // which Revoke and Steal end; empty if Shared: then one of Holders is to be chosen
	Timeline timeline
	Did      string // what a form has just done
	Notified int    // how many subscribers it notified
	Refused  Refusal
}

// Refusal is why nothing was done, and what was typed.
type Refusal struct{ Sentence, Verb, Reason, Tenure string }

// verbForm is one of the two forms; of one that was refused the reason that was typed and
// the holder that was chosen are kept.
type verbForm struct {
	*lockPage
	Verb string
}

// maxShown is how many holders are shown of a name, and how many waiters.
const maxShown = 50

func lock(v *visit) any {
	page := newLockPage(v, v.query.Get("name"))
	page.Did = v.query.Get("did")
	page.Notified, _ = strconv.Atoi(v.query.Get("notified"))
	return page
}

// Refused is the page of a name after a form of it was refused.
func Refused(name string, status int, why Refusal) Page {
	return Page{Name: "lock", Title: "Locks", content: func(v *visit) any {
		page := newLockPage(v, name)
		v.status, page.Refused = status, why
		return page
	}}
}

func newLockPage(v *visit, name string) *lockPage {
	l := v.Picture.ByName[name]
	page := &lockPage{visit: v, Name: name, Lock: l}
	v.Title = cmp.Or(view.Text(name), "Which lock?")
	if name != "" { // a journal would show all names
		page.Timeline = timelineOf(v, name, l)
	}
	if l == nil {
		if name == "" || len(page.Timeline.Holds) == 0 && v.Picture.Err == nil && !v.Picture.Blind() {
			v.status = http.StatusNotFound
		}
		return page
	}
	page.Holders = l.Holding()
	if len(page.Holders) == 0 && l.Holder != nil { // in cool-down
		page.Holders = []admin.Holder{*l.Holder}
	}
	page.Holders = slices.Clone(page.Holders[:min(len(page.Holders), maxShown)])
	page.Waiters = l.Waiters[:min(len(l.Waiters), maxShown)]
	page.More = l.Waiting - len(page.Waiters)
	page.Shared = l.Kind == holdfast.KindSemaphore || l.Kind == holdfast.KindRWMutex
	if l.Held() && !page.Shared {
		page.Tenure = l.Holder.Hash
	}
	if page.Shared {
		addHeld(v, l, page.Holders)
	}
	return page
}

// addHeld adds how long holders of a shared kind have held, which Redis does not store: by what
// was seen, else by the journal.
func addHeld(v *visit, l *seen.Lock, holders []admin.Holder) {
	var written map[string]time.Time
	if v.Journal != nil && len(l.Holders) > 0 && l.State.Holding <= len(l.Holders) { // all owners are known
		var owners []string
		for _, h := range l.Holders {
			owners = append(owners, h.Owner)
		}
		if read, err := recent(v.Board, wish{name: l.Name}); err == nil {
			written = journal.HeldSince(inOrder(until(read.all, l.Seen, v.Picture.Ahead)), owners)
		}
	}
	for i := range holders {
		h := &holders[i]
		at, known := v.Picture.Past.HeldSince(l.Name, h.Hash)
		if !known {
			at, known = written[h.Owner]
		}
		if known {
			h.Held = max(0, l.Seen.Sub(at))
		}
	}
}

// inOrder yields entries that were read without an error.
func inOrder(entries []journal.Entry) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}
