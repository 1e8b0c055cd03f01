package notify

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// watch decides which problems have begun or ended. It reads no clock.
type watch struct {
	standing map[string]standing  // names that had a problem at the newest survey
	gone     map[string]time.Time // names of posted problems: since when they have none
}

// standing says since when a name has had a problem.
type standing struct {
	first time.Time // any problem
	code  diagnose.Code
	coded time.Time // this one
}

// open is a problem whose begin was posted, and whose end was not.
type open struct {
	Code  diagnose.Code `json:"code"`
	Since time.Time     `json:"since"`
	Tried bool          `json:"tried,omitempty"` // its begin was sent, and is not known to have arrived
}

// change is one problem that has begun or ended.
type change struct {
	Problem
	ended bool
	first bool // the receiver is not known to have got any begin of it
}

// see takes in a survey and returns what is due, given what was posted: begins first, the most
// serious first. A name whose problem became more serious begins again.
func (w *watch) see(now time.Time, found []Problem, posted map[string]open) (due []change) {
	before := w.standing
	w.standing = make(map[string]standing, len(found))
	for _, p := range found {
		s, ok := before[p.Name]
		if !ok {
			s.first = now
		}
		if s.code != p.Code {
			s.code, s.coded = p.Code, now
		}
		w.standing[p.Name] = s
		o, told := posted[p.Name]
		since := s.first
		if told && !o.Tried {
			since = s.coded
		}
		if now.Sub(since) < stands || told && !o.Tried && seriousness(p.Code) >= seriousness(o.Code) {
			continue
		}
		p.Since = s.first.UTC()
		if told {
			p.Since = o.Since
		}
		due = append(due, change{Problem: p, first: !told || o.Tried})
	}
	slices.SortStableFunc(due, func(a, b change) int { return cmp.Compare(seriousness(a.Code), seriousness(b.Code)) })
	return append(due, w.ended(now, posted)...)
}

// ended returns the ends that are due.
func (w *watch) ended(now time.Time, posted map[string]open) (due []change) {
	before := w.gone
	w.gone = map[string]time.Time{}
	for _, name := range slices.Sorted(maps.Keys(posted)) {
		if _, stands := w.standing[name]; stands {
			continue
		}
		since, ok := before[name]
		if !ok {
			since = now
		}
		w.gone[name] = since
		if now.Sub(since) >= gone {
			o := posted[name]
			due = append(due, change{Problem: Problem{Name: name, Code: o.Code, Since: o.Since}, ended: true, first: o.Tried})
		}
	}
	return due
}

// seriousness is less for a code that is more serious.
func seriousness(c diagnose.Code) int { return slices.Index(diagnose.Codes(), c) }

// batches divides what is due into at most left posts: of one change each, and if they are too
// many, the last one has all the rest.
func batches(due []change, left int) (posts [][]change) {
	for len(due) > 0 && len(posts) < left {
		n := 1
		if len(posts) == left-1 {
			n = len(due)
		}
		posts, due = append(posts, due[:n]), due[n:]
	}
	return posts
}

// window counts the posts of the last minute.
type window struct{ posts []time.Time }

func (w *window) add(now time.Time) { w.posts = append(w.posts, now) }

// left is how many posts may follow now.
func (w *window) left(now time.Time, limit int) int {
	w.posts = slices.DeleteFunc(w.posts, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	return limit - len(w.posts)
}
