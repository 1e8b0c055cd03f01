package election

import "time"

// Sight is what an observer has reported of an election. The zero Sight has reported nothing.
type Sight struct {
	leader   View
	reported bool          // leader was reported last
	fails    time.Duration // until the next poll, while the store fails; 0: it does not
}

// Take notes the result of a poll, and reports whether it is news.
func (s *Sight) Take(v View, err error) (news Leader, isNew bool) {
	if err != nil {
		isNew = s.fails == 0
		s.reported, s.fails = false, min(max(2*s.fails, 50*time.Millisecond), time.Second)
		return Leader{}, isNew
	}
	if v.Hash == s.leader.Hash { // what is stored may be lost, or older than it was
		if v.Term == 0 {
			v.Term = s.leader.Term
		}
		if v.number < s.leader.number {
			v.Value, v.number = s.leader.Value, s.leader.number
		}
	}
	isNew = !s.reported || v.Hash != s.leader.Hash || v.Term != s.leader.Term || v.Value != s.leader.Value
	*s = Sight{leader: v, reported: true}
	return v.Leader, isNew
}

const (
	pollAnyway       = 15 * time.Second      // an announcement may be lost
	pollUnsubscribed = time.Second           // no announcement would come
	pollBehind       = 50 * time.Millisecond // the next leader, if there is one, looks first
)

// Pause returns how long an observer waits before it polls again. It gets announcements if it
// is subscribed. jitter returns a random part of a duration.
func (s *Sight) Pause(subscribed bool, jitter func(time.Duration) time.Duration) time.Duration {
	leader := s.leader
	switch {
	case s.fails > 0:
		return s.fails/2 + jitter(s.fails)
	case !subscribed || !leader.None() && (leader.Term == 0 || leader.Remaining < 0):
		return pollUnsubscribed - jitter(pollUnsubscribed/4)
	case leader.None():
		return pollAnyway - jitter(pollAnyway/8)
	}
	return min(leader.Remaining, pollAnyway) + pollBehind + jitter(pollBehind)
}
