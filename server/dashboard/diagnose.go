package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast"
)

// level is how much a finding matters.
type level string

const (
	bad  level = "trouble" // somebody should act
	warn level = "watch"   // it may become trouble
	note level = "note"    // worth knowing
)

func (l level) rank() int { return slices.Index([]level{note, warn, bad}, l) }

// finding is something about a lock that people should know, and what to do.
type finding struct {
	Level    level
	Code     string
	Sentence string
	Action   string
}

// diagnose says what is the matter with a lock, the worst first.
func diagnose(s *holdfast.State) []finding {
	var all []finding
	add := func(l level, code, action, sentence string, args ...any) {
		all = append(all, finding{l, code, fmt.Sprintf(sentence, args...), action})
	}
	if h := s.Holder; h != nil {
		diagnoseHolder(add, s, h)
	}
	dead := 0
	var longest time.Duration
	for _, w := range s.Waiters {
		longest = max(longest, w.Waited)
		if !w.Listening {
			dead++
		}
	}
	if dead > 0 {
		add(note, "gone-waiters", "Nothing: they are skipped when their turn comes.",
			"%s in line can't be told: the process is gone or cut off.", plural(dead, "waiter"))
	}
	if s.Holder != nil && !s.Holder.Resting && longest > time.Minute {
		add(warn, "starving", "See what the holder is doing, and whether it holds longer than it needs to.",
			"The head of the line has waited for %s.", length(longest))
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(b.Level.rank(), a.Level.rank()) })
	return all
}

func diagnoseHolder(add func(level, string, string, string, ...any), s *holdfast.State, h *holdfast.Holder) {
	switch {
	case h.Resting:
		add(note, "cooldown", "Wait, or see --min-hold of the job that held it.",
			"Nobody holds it: it rests for %s more after the last hold.", length(h.Remaining))
	case h.Remaining < 0:
		add(bad, "no-ttl", "If the process that set it is gone, delete the key; then make sure that the old client sets an expiry, or use Options.RepairOrphans.",
			"The key has no expiry: if its holder died, nobody gets the name again.")
	case h.Foreign:
		add(note, "unmanaged", "Look for it in the program that set the key.",
			"It is held by a client of another library: who that is can't be said from here.")
	case h.TTL > 0 && h.Remaining < life(h)/10:
		add(bad, "expiring", "See whether its process hangs, is frozen, or can't reach Redis.",
			"It ends in %s unless it is renewed, and renewals should have come long ago.", length(h.Remaining))
	case h.TTL > 0 && h.Remaining < life(h)/3:
		add(warn, "renewals-late", "See whether its process is overloaded or its network slow.",
			"Renewals are late: %s left of %s.", length(h.Remaining), length(h.TTL))
	case h.Held > time.Hour && s.Waiting > 0:
		add(warn, "held-long", "See whether it still does what it should.",
			"Held for %s while others wait.", length(h.Held))
	}
}

// claim is how long a pushed grant lives until its first renewal.
const claim = 2 * time.Second

// life is what a tenure has from one renewal to the next: its ttl, or at first the
// claim window.
func life(h *holdfast.Holder) time.Duration {
	if w := min(h.TTL, claim); h.Held > 0 && h.Held < w && h.Remaining <= w || h.Held == 0 && h.Remaining <= w {
		return w
	}
	return h.TTL
}
