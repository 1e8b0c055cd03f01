package election

// Agreed returns the leader that at least need nodes name, if there is one. Its Term is 0 if
// the nodes do not prove it.
func Agreed(all []Leader, need int) (leader Leader, ok bool) {
	for _, l := range all {
		if !l.None() && count(all, func(o Leader) bool { return o.Hash == l.Hash }) >= need {
			l.Term = termOf(l, all, need)
			return l, true
		}
	}
	return Leader{}, false
}

// termOf returns the token with which a leader won, or 0 if it is not known. A node that gave a
// lower token and counts has reserved more by now: raise has moved its fence key, and each
// renewal does. So if a majority names one token, one of these nodes counts, and it counts for
// that token.
func termOf(leader Leader, all []Leader, need int) int64 {
	same := func(o Leader) bool { return o.Hash == leader.Hash && o.Term > 0 && o.Term == leader.Term }
	if count(all, same) < need {
		return 0
	}
	return leader.Term
}

func count(all []Leader, has func(Leader) bool) (n int) {
	for _, l := range all {
		if has(l) {
			n++
		}
	}
	return n
}
