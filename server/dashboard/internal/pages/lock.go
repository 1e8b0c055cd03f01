package pages

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/view"
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
	page.Holders = page.Holders[:min(len(page.Holders), maxShown)]
	page.Waiters = l.Waiters[:min(len(l.Waiters), maxShown)]
	page.More = l.Waiting - len(page.Waiters)
	page.Shared = l.Kind == holdfast.KindSemaphore || l.Kind == holdfast.KindRWMutex
	if l.Held() && !page.Shared {
		page.Tenure = l.Holder.Hash
	}
	return page
}
