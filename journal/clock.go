package journal

import "time"

// drift is by how much of a time clocks may differ after it: 500 millionths is as
// fast as NTP turns one, and crystals are better.
func drift(d time.Duration) time.Duration { return d.Abs() / 2000 }

// stepped is from which difference on between wall clock and monotonic clock one of
// them is taken to have jumped, or the machine to have slept.
const stepped = 10 * time.Millisecond

// moment is one reading of both clocks of this process.
type moment struct {
	local time.Duration // monotonic, since the Writer was made
	wall  time.Time     // without a monotonic reading
}

// driftBetween is how far the two clocks drifted apart between two moments, if that is
// more than a clock is turned.
func driftBetween(a, b moment) time.Duration {
	d := (b.wall.Sub(a.wall) - (b.local - a.local)).Abs()
	if d < stepped {
		return 0
	}
	return d
}

// offset is what is known of the server's clock: at that moment it was at least min, and at
// most max, ahead of the Writer's. The zero value knows nothing.
type offset struct {
	known    bool
	min, max time.Duration // server time as a duration since 1970, minus local
	at       moment
}

// updated is the offset after one more exchange: the server read its clock after it was
// asked and before the answer came.
func (o offset) updated(asked, answered moment, server time.Duration) offset {
	now := offset{known: true, min: server - answered.local, max: server + time.Microsecond - asked.local, at: answered}
	if !o.known || driftBetween(o.at, answered) > 0 {
		return now
	}
	wide := drift(answered.local - o.at.local)
	least, most := max(now.min, o.min-wide), min(now.max, o.max+wide)
	if least > most { // another server, or its clock was set
		return now
	}
	now.min, now.max = least, most
	return now
}

// server is a moment by the server's clock, and how far off that may be.
func (o offset) server(m moment) (at time.Time, within time.Duration) {
	half := (o.max - o.min) / 2
	within = half + drift(m.local-o.at.local) + driftBetween(m, o.at) + time.Microsecond
	return time.UnixMicro((m.local + o.min + half).Microseconds()), within
}

// fresh reports whether it is new enough for what happens now.
func (o offset) fresh(now moment) bool {
	return o.known && now.local-o.at.local < time.Second && driftBetween(o.at, now) == 0
}

// wide reports whether it is too inexact to order what happens in different processes.
func (o offset) wide() bool { return o.max-o.min > stepped }
