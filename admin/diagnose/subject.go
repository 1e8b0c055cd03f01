package diagnose

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/protocol"
)

// subject is a state under diagnosis. Its methods write the diagnoses.
type subject struct{ *admin.State }

// aboutHolders diagnoses the holders of a name: those of holdfast, with an expiry.
func (s subject) aboutHolders(o *Options) (found []Diagnosis) {
	h := s.Holder
	if h.Revoked != "" {
		found = append(found, Diagnosis{
			Revoking,
			fmt.Sprintf("%s was asked to stop (%s); it keeps the name until it stops, or for %s at most", h.Describe(), h.Revoked, rough(h.Remaining)),
			fmt.Sprintf("wait; 'holdfast steal %s' takes the name at once, but then two holders may work at a time", s.tenureFlags()),
		})
	} else if late := s.late(); late != nil {
		found = append(found, *late)
	}
	if long := s.long(o); long != nil {
		found = append(found, *long)
	}
	if len(found) == 0 {
		found = append(found, Diagnosis{HeldHealthy, s.healthy(), ""})
	}
	return found
}

// healthy describes the holder of a name that renews on time.
func (s subject) healthy() string {
	h := s.Holder
	if s.Kind != holdfast.KindMutex {
		text := fmt.Sprintf("%s by %s%s", s.use(), s.whos(), s.renewed())
		if s.overSize() {
			text += fmt.Sprintf("; the size is now %d, so no caller gets a permit until %d are returned", s.Size, s.Used-s.Size+1)
		}
		return text
	}
	text := "held by " + h.Describe()
	if s.Term > 0 {
		text = "led by " + h.Describe()
	}
	if h.Held > 0 {
		text += " for " + rough(h.Held)
	}
	if h.Remaining > h.TTL && h.TTL > 0 {
		return text + ", and kept for " + rough(h.Remaining) + " more in any case (MinHold)"
	}
	if h.Exported {
		return text + fmt.Sprintf("; the lease was exported: no process renews it by itself, and it ends in %s unless it is renewed", rough(h.Remaining))
	}
	if life := s.effectiveTTL(h); life == h.TTL && h.Remaining < life*3/5 {
		return text + fmt.Sprintf("; it has not renewed for %s, and %s is left of its ttl of %s", rough(h.TTL-h.Remaining), rough(h.Remaining), rough(h.TTL))
	}
	return text + ", renews on time"
}

// overSize reports whether a semaphore was made smaller while more permits were held.
func (s subject) overSize() bool {
	return s.Kind == holdfast.KindSemaphore && s.Used > s.Size && s.Size > 0
}

// use says how a name of a shared kind is used.
func (s subject) use() string {
	switch {
	case s.overSize():
		return fmt.Sprintf("%d permits are held", s.Used)
	case s.Kind == holdfast.KindSemaphore:
		return fmt.Sprintf("%d of %d permits are held", s.Used, s.Size)
	case s.Holder.Part.Writes:
		return "held for writing"
	case s.Holder.Part.Reads:
		return "held for reading"
	}
	return "held"
}

// whos names the holders of a shared kind.
func (s subject) whos() string {
	whos := make([]string, 0, 3)
	for i := range s.Holders[:min(len(s.Holders), cap(whos))] {
		whos = append(whos, s.Holders[i].Describe())
	}
	return each(whos, max(s.Holding, len(whos)))
}

// renewed says how the leases of a shared kind are renewed. None is late.
func (s subject) renewed() string {
	n := 0
	for i := range s.Holders {
		if s.Holders[i].Exported {
			n++
		}
	}
	switch n {
	case 0:
		return ", renewed on time"
	case 1:
		return "; one lease was exported: no process renews it by itself"
	}
	return fmt.Sprintf("; %d leases were exported: no process renews them by itself", n)
}

// A holder renews after a third of the ttl, so it has at least two thirds left. With half
// of that it is late.
const (
	lateShare     = 3
	expiringShare = 10
)

// effectiveTTL is the ttl that a holder was given: until the first renewal of a pushed grant,
// the claim window.
func (s subject) effectiveTTL(h *admin.Holder) time.Duration {
	w := min(h.TTL, protocol.ClaimWindow)
	if h.Remaining <= w && (h.Held > 0 && h.Held < w || h.Held == 0 && s.grantedWithin(w)) {
		return w // it may have had no time to renew
	}
	return h.TTL
}

// Renewal says when a holder renews its lease, and whether it does.
type Renewal struct {
	Every time.Duration // from one renewal to the next; 0: no process renews the lease, or it is not known when
	Due   time.Duration // until the next renewal is due; negative: since then
	Late  Code          // RenewalsLate or Expiring; empty: the holder is not late
}

// RenewalOf returns the Renewal of a holder of the state.
func RenewalOf(state *admin.State, h *admin.Holder) Renewal {
	s := subject{state}
	life := s.effectiveTTL(h)
	r := Renewal{Late: s.lateness(h)}
	if h.TTL > 0 && h.Remaining >= 0 && h.Remaining <= life && !h.Exported {
		r.Every = life / lateShare
		r.Due = h.Remaining - (life - r.Every)
	}
	return r
}

// lateness is the code of a holder that has not renewed in time; empty: it has.
func (s subject) lateness(h *admin.Holder) Code {
	life := s.effectiveTTL(h)
	switch {
	case h.TTL == 0 || h.Remaining < 0:
		return ""
	case h.Remaining < life/expiringShare:
		return Expiring
	case h.Remaining < life/lateShare:
		return RenewalsLate
	}
	return ""
}

// grantedWithin reports whether the name may have been granted in the last d: its newest
// token was reserved at the newest grant, or after it.
func (s subject) grantedWithin(d time.Duration) bool {
	return s.Token == 0 || s.Token > protocol.TokensPerMicrosecond*(s.At.UnixMicro()-d.Microseconds())
}

// late finds the holder that is nearest to its end without renewing. The holders are sorted
// by their ends, but a holder with a shorter ttl may be less late.
func (s subject) late() *Diagnosis {
	holders := holders(s.State)
	var worst *admin.Holder
	n := 0
	for i := range holders {
		h := &holders[i]
		code := s.lateness(h)
		if code == "" || h.Exported { // nobody said that it would be renewed
			continue
		}
		n++
		if worst == nil || code == Expiring && s.lateness(worst) != Expiring {
			worst = h
		}
	}
	if worst == nil {
		return nil
	}
	about := fmt.Sprintf("%s renews late: %s is left of its ttl of %s; a holder that renews on time always has at least %s",
		worst.Describe(), rough(worst.Remaining), rough(worst.TTL), rough(worst.TTL-worst.TTL/3))
	action := fmt.Sprintf("check its process: it hangs, or it does not reach Redis (load, network). If it does not renew, the name is free in %s. If its lease was exported, adopt the lease", rough(worst.Remaining))
	code := s.lateness(worst)
	if code == Expiring {
		about = fmt.Sprintf("%s has stopped renewing: %s is left of its ttl of %s", worst.Describe(), rough(worst.Remaining), rough(worst.TTL))
		action = fmt.Sprintf("wait: the name is free in %s. Check its process: only a resource that checks the fencing token refuses its late writes", rough(worst.Remaining))
	}
	if n > 1 {
		about += fmt.Sprintf("; %d of %d holders renew late", n, s.Holding)
	}
	return &Diagnosis{code, about, action}
}

// long finds a mutex that is held for too long. It does not know when a lock of
// a shared kind was granted. A leader may lead for any time.
func (s subject) long(o *Options) *Diagnosis {
	h := s.Holder
	if s.Term > 0 || s.Unreadable != nil {
		return nil
	}
	limit, why := s.holdLimit(o)
	if h.Held <= limit {
		return nil
	}
	return &Diagnosis{
		HeldLong, fmt.Sprintf("held by %s for %s, which is %s", h.Describe(), rough(h.Held), why),
		"check whether its work makes progress; " + s.toStop() + ". If that is normal, say so: 'holdfast run --expect' or Details.Expect",
	}
}

// holdLimit returns how long a holder may hold the name, and the words for a holder that
// holds it for longer.
func (s subject) holdLimit(o *Options) (limit time.Duration, why string) {
	h := s.Holder
	if h.Details != nil && h.Details.Expect > 0 {
		return h.Details.Expect, fmt.Sprintf("longer than expected (%s)", rough(h.Details.Expect))
	}
	if h.Held <= h.TTL {
		return h.TTL, "" // the journal is not asked about a short hold
	}
	if typical, known := o.typical(s.Name); known {
		return 3 * typical, fmt.Sprintf("%d times as long as usual (%s)", int(h.Held/typical), rough(typical))
	}
	if h.TTL > time.Hour {
		return h.TTL, fmt.Sprintf("more than its ttl (%s)", rough(h.TTL))
	}
	return time.Hour, "more than an hour"
}

// toStop says how a holder is made to stop.
func (s subject) toStop() string {
	if h := s.Holder; s.Quorum || h.Hash == "" || h.Foreign {
		return "to end this hold, stop its process: it cannot be revoked"
	}
	return "holdfast revoke " + s.tenureFlags() + " asks it to stop"
}

func (s subject) tenureFlags() string {
	return fmt.Sprintf("--tenure %s --reason TEXT %s", s.Holder.Hash, shellWord(s.Name))
}

// keyName is how a key is named to people.
func (s subject) keyName() string {
	if s.Key == "" {
		return "its key"
	}
	return "its key, " + shellWord(s.Key) + ","
}

func (s subject) cooldown() Diagnosis {
	return Diagnosis{
		Cooldown, fmt.Sprintf("in cool-down after the hold of %s, for %s more (MinHold)", cmp.Or(s.Holder.Owner, "another"), rough(s.Holder.Remaining)),
		"wait; to free the name sooner, delete " + s.keyName() + " in Redis: the job may then run twice",
	}
}

func (s subject) noTTL() Diagnosis {
	about := fmt.Sprintf("held by %s, but the key has no expiry: if that client is dead, the name stays locked", s.Holder.Describe())
	if s.Holder.Cooldown {
		about = "in cool-down, but the key has no expiry: the name stays locked"
	}
	return Diagnosis{
		NoTTL, about,
		"find the program that set " + s.keyName() + " in Redis. If that program is dead, delete the key; Options.RepairOrphans gives such keys an expiry",
	}
}

func (s subject) otherVersion() Diagnosis {
	return Diagnosis{
		OtherVersion, fmt.Sprintf("a process with another version of holdfast uses it (protocol %d): this program can neither diagnose nor change it", s.Version),
		"update this program",
	}
}

func (s subject) unmanaged() Diagnosis {
	return Diagnosis{
		Unmanaged, fmt.Sprintf("held by %s, for %s more unless it renews; its owner and start are unknown", s.Holder.Describe(), rough(s.Holder.Remaining)),
		"wait until it releases the name: holdfast cannot revoke or steal it",
	}
}

// toBreak says how to end a circle that has this name.
func (s subject) toBreak() string {
	if s.Kind != holdfast.KindMutex || s.Quorum {
		return "To break the circle, stop one of the processes"
	}
	return "holdfast revoke " + s.tenureFlags() + " breaks the circle"
}

const (
	stuckAfter    = 2 * time.Second // a wait that is shorter may be one of a moment
	starveFactor  = 10              // times as long as the queue would need
	blockedAtMost = time.Minute
)

// head is the first living waiter and its place in the queue.
func head(s *admin.State) (w *admin.Waiter, at int) {
	for i := range s.Waiters {
		if s.Waiters[i].Listening {
			return &s.Waiters[i], i
		}
	}
	return nil, 0
}

// aboutWaiters says what keeps the head of the queue waiting.
func (s subject) aboutWaiters(o *Options) (found []Diagnosis) {
	w, at := head(s.State)
	if w == nil {
		return nil
	}
	behind := ""
	if n := s.Waiting - at - 1; n > 0 {
		behind = fmt.Sprintf("; %d more wait behind it", n)
	}
	switch {
	case s.fits(w) && w.Waited >= stuckAfter:
		found = append(found, Diagnosis{
			Starving, fmt.Sprintf("%s has been at the head of the queue for %s, although it could have the name%s", w.Describe(), rough(w.Waited), behind),
			"check whether its process hangs or has lost its connection; 'holdfast doctor' shows whether messages arrive. The next client that locks the name makes the queue move",
		})
	case s.starves(w, o):
		found = append(found, Diagnosis{
			Starving, fmt.Sprintf("%s, at the head of the queue, has waited for %s, although %s has held the name for only %s%s", w.Describe(), rough(w.Waited), s.Holder.Describe(), rough(s.Holder.Held), behind),
			"look for a client of another library that takes this name: such clients ignore the queue",
		})
	}
	if s.blocked(w) {
		found = append(found, Diagnosis{
			ReadersBlockWriter, fmt.Sprintf("%s, a writer, has waited %s for %s to finish reading%s", w.Describe(), rough(w.Waited), s.whos(), behind),
			"find out why the readers take so long, or run this for each reader: holdfast revoke " + s.tenureFlags() + ". Then the writer is next",
		})
	}
	return found
}

// fits reports whether the head of the queue could have the name now.
func (s subject) fits(w *admin.Waiter) bool {
	h := s.Holder
	switch {
	case h == nil:
		return true
	case s.Kind == holdfast.KindSemaphore:
		return s.Size > 0 && w.Part.Permits > 0 && s.Used+w.Part.Permits <= s.Size
	case s.Kind == holdfast.KindRWMutex:
		return w.Part.Reads && h.Part.Reads
	}
	return false
}

// starves reports whether the head has waited longer than the queue explains: ten times
// what all waiters need if each holds the name as long as the present holder so far, for
// the ttl, or for the typical time of the name.
func (s subject) starves(w *admin.Waiter, o *Options) bool {
	h := s.Holder
	if h == nil || h.Cooldown || h.Held <= 0 {
		return false // for how long it is held is not known
	}
	queue, turn := time.Duration(s.Waiting+1), max(h.Held, h.TTL)
	if w.Waited/starveFactor <= queue*turn {
		return false
	}
	typical, _ := o.typical(s.Name)
	return w.Waited/starveFactor > queue*typical
}

// blocked reports whether readers keep a writer waiting.
func (s subject) blocked(w *admin.Waiter) bool {
	if s.Kind != holdfast.KindRWMutex || !w.Part.Writes || s.Holder == nil || !s.Holder.Part.Reads {
		return false
	}
	longest := time.Duration(0)
	for i := range s.Holders {
		longest = max(longest, s.Holders[i].TTL)
	}
	return w.Waited > min(longest, blockedAtMost)
}
