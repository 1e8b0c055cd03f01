package election

// Agreed returns the leader that so many nodes have, if there is one. Its Term is 0 if that
// cannot be told.
func Agreed(all []Leader, need int) (leader Leader, ok bool) {
	for _, l := range all {
		if !l.None() && count(all, func(o Leader) bool { return o.Hash == l.Hash }) >= need {
			l.Term = termOf(l, all, need)
			return l, true
		}
	}
	return Leader{}, false
}

// termOf is the token with which a leader won, if that can be told. A node that gave it
// less has reserved more by now, if it counts: raise has moved its F, and every renewal does.
// So a majority that gave one token, and has reserved no more since, has among them one that
// counts, and it counts for that token.
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
