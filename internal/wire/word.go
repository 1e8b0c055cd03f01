package wire

// Word is what a script answers, and the first word of its reply.
type Word uint8

// The words of all scripts, and at the end those of a ballot. The handlers of package machine take
// those of the scripts that it sends; TestEachAnswerHasAHandler there fails if one is missing.
const (
	NoWord Word = iota // no answer
	Granted
	Queued
	Renewed
	Released
	Again
	Held
	NotHeld
	Lost
	Revoked
	Stolen
	Kept
	Dropped
	Cancelled
	Ours
	Repaired
	Unchanged
	NotDue
	OtherKind
	TooMany
	Passed // ShareOf: no answer about this name, because another one was not free
	Announced
	Notified
	Taken
	Stands
	Adopted
	Resized
	NoVote
	NoMember
	Raised
	Marked
	Split   // of a ballot: the next try may win
	TooSlow // of a ballot: the ttl is too short
)

// words has the text of each word, and the fields behind it, in order. A field in brackets may be
// missing. The words that are often answered come as one line, see decodeLine; the fields of these
// are those in the list of a quorum's node.
var words = [...]struct{ text, fields string }{
	NoWord:    {},
	Granted:   {"granted", "base size server run"},
	Queued:    {"queued", ""},
	Renewed:   {"renewed", "server run"},
	Released:  {"released", "refused run [pttl]"},
	Again:     {"again", "server"},
	Held:      {"held", "holder pttl waiting server [refused] [run] [capacity]"},
	NotHeld:   {"not held", "holder server [refused] [run] [pttl]"},
	Lost:      {"lost", "holder server [run]"},
	Revoked:   {"revoked", "reason"},
	Stolen:    {"stolen", "reason"},
	Kept:      {"kept", "server"},
	Dropped:   {"dropped", "server"},
	Cancelled: {"cancelled", "server refused"},
	Ours:      {"ours", "pttl [run]"},
	Repaired:  {"repaired", "[server] [run]"},
	Unchanged: {"unchanged", ""},
	NotDue:    {"not due", "server"},
	OtherKind: {"other kind", "kind capacity"},
	TooMany:   {"too many", "capacity"},
	Passed:    {"passed", ""},
	Announced: {"announced", "server refused holder"},
	Notified:  {"notified", "notified refused"},
	Taken:     {"taken", "refused"},
	Stands:    {"stands", "pttl waiting server"},
	Adopted:   {"adopted", "holder server"},
	Resized:   {"resized", ""},
	NoVote:    {"no vote", "pttl server run"},
	NoMember:  {"no member", "mark server run"},
	Raised:    {"raised", "server run"},
	Marked:    {"marked", "mark server run"},
	Split:     {"split", ""},
	TooSlow:   {"too slow", ""},
}

// wordOf has the words of scripts by their text.
var wordOf = func() map[string]Word {
	all := make(map[string]Word, len(words))
	for w := NoWord + 1; w < Split; w++ {
		all[words[w].text] = w
	}
	return all
}()

func (w Word) String() string { return words[w].text }
