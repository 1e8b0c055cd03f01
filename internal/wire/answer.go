package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
)

// Bounds of what Redis may answer. A figure beyond them is an error or is cut, so that no sum
// of two overflows.
const (
	MaxTokenBlock = 4096 // tokens in one block

	maxPTTL   = int64(1 << 62 / time.Millisecond) // in ms: a foreign key may have any
	maxPollIn = 600_000                           // in ms
	maxReason = 200                               // in bytes
)

// NoKey is the PTTL of a key that does not exist.
const NoKey = -2 * time.Millisecond

// Millis returns a duration as an argument of a script: in milliseconds, rounded up.
func Millis(d time.Duration) string {
	return strconv.FormatInt((d + time.Millisecond - 1).Milliseconds(), 10)
}

// OfMillis converts milliseconds in a script's answer. It cuts them to 146 years, because a foreign
// key may have any expiry.
func OfMillis(ms int64) time.Duration {
	return time.Duration(max(-maxPTTL, min(ms, maxPTTL))) * time.Millisecond
}

// Itoa returns a number as an argument of a script.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }

// CleanReason makes the reason of a revocation safe to read, and at most 200 bytes long.
func CleanReason(s string) string { return keyspace.Clean(s, maxReason) }

// Answer is a decoded reply of a script. Its word decides which other fields count;
// docs/protocol.md has the table.
type Answer struct {
	Word      Word
	Base      int64 // granted, renewed: first token of the block; 1 if there is none
	Size      int64
	Waiting   int64         // granted, renewed, held: ids in the queue
	Server    int64         // the server's time in microseconds
	Holder    string        // held, queued, lost, not held: the value of the lock key; empty: none
	PTTL      time.Duration // held, queued: of the lock key; negative: no expiry. released, of a quorum's node: of the mark of a waiter
	Position  int64         // queued: 0 is the head
	Score     int64         // queued: arrival in microseconds
	Inserted  bool          // queued: by this very request
	Listening bool          // queued: our own channel has a listener
	Refused   string        // what the server said when it refused to publish
	Reason    string        // revoked, stolen: why
	Notified  int64         // notified: how many subscribers got the push
	Run       string        // a quorum's node: the server and its run that answered
	Mark      string        // no member: the quorum-id that the node bears
	Kind      string        // other kind: which one the name is
	Capacity  int64         // other kind, too many: its size; 0: it has none, or it is not known. Else its size where we said another
	PollIn    time.Duration // queued: shared kinds: when to poll; else 1 ms: it has just handed over
}

// What [Answer.Ending] returns.
const (
	CauseTaken   = "taken"
	CauseGone    = "gone"
	CauseRevoked = "revoked"
	CauseStolen  = "stolen"
)

// Ending returns why a tenure is over, if the answer says that it is.
func (a Answer) Ending() string {
	switch {
	case a.Word == Revoked:
		return CauseRevoked
	case a.Word == Stolen:
		return CauseStolen
	case a.Holder != "":
		return CauseTaken
	}
	return CauseGone
}

// DecodeAnswer reads the reply of a script. An empty reply, an unknown word and a number out
// of range are errors.
func DecodeAnswer(reply []string) (Answer, error) {
	if len(reply) == 0 {
		return Answer{}, errors.New("an empty answer")
	}
	if len(reply) == 1 {
		if a, ok := decodeLine(reply[0]); ok {
			return a, a.check()
		}
	}
	return decodeList(reply)
}

// decodeList reads the other answers, which have an element for each field.
func decodeList(reply []string) (Answer, error) {
	a := Answer{Word: wordOf[reply[0]]}
	if a.Word == NoWord || a.Word == Queued { // that is a line
		return Answer{}, fmt.Errorf("an answer that begins with %q", keyspace.Shorten(reply[0]))
	}
	rest := reply[1:]
	for field := range strings.FieldsSeq(words[a.Word].fields) {
		name, optional := strings.CutPrefix(field, "[")
		if len(rest) == 0 && optional {
			break
		}
		if len(rest) == 0 {
			return Answer{}, fmt.Errorf("an answer %q without %s", a.Word, field)
		}
		if err := a.set(strings.TrimSuffix(name, "]"), rest[0]); err != nil {
			return Answer{}, fmt.Errorf("an answer %q whose %s is %q: %w", a.Word, field, keyspace.Shorten(rest[0]), err)
		}
		rest = rest[1:]
	}
	if a.Word == Held || a.Word == OtherKind {
		if version := max(keyspace.OtherVersion(a.Holder), keyspace.OtherVersion(a.Kind)); version > 0 {
			return Answer{}, &VersionError{version}
		}
	}
	return a, a.check()
}

// ShareOf returns the part of an answer of multi_lock that is about the name at i,
// from 0, of n names. If one name is not free, that name gets the answer about its
// holder, and the others get "passed". The error says that the answer has a wrong length.
func ShareOf(reply []string, i, n int) ([]string, error) {
	switch {
	case len(reply) >= 2 && reply[0] == "not all":
		if reply[1] == strconv.Itoa(i+1) {
			return reply[2:], nil
		}
		return []string{"passed"}, nil
	case len(reply) == n:
		return reply[i : i+1], nil
	}
	return nil, fmt.Errorf("an answer of %d elements for %d names", len(reply), n)
}

// decodeLine reads the answers that come often: a line costs less than a list, here
// and in Redis. They are
//
//	granted <last> <size> <waiting> <seconds> <us> [refused]    and the same of renewed
//	queued <pttl> <position> <score> <seconds> <us> <inserted> <listening> <poll> <n> <holder, n bytes>[refused]
//	released [refused]
//	again
//
// Before granted and queued stands "sized <capacity> " if a semaphore has another size than the request said.
func decodeLine(line string) (a Answer, ok bool) {
	word, rest, _ := strings.Cut(line, " ")
	a.Word = wordOf[word]
	switch a.Word {
	case Granted, Renewed:
		var last, seconds, micros int64
		rest, ok = cutNumbers(rest, &last, &a.Size, &a.Waiting, &seconds, &micros)
		a.Base, a.Server = last-a.Size+1, seconds*1_000_000+micros
	case Queued:
		rest, ok = a.queued(rest)
	case Released, Again:
		ok = true
	default:
		var size int64
		if rest, ok = cutNumbers(rest, &size); word != "sized" || !ok {
			return a, false
		}
		a, ok = decodeLine(rest)
		a.Capacity = min(size, protocol.MaxSize)
		return a, ok
	}
	a.Refused = rest
	return a, ok
}

// queued reads what follows the word up to the holder.
func (a *Answer) queued(line string) (rest string, ok bool) {
	var pttl, seconds, micros, inserted, heard, look, holder int64
	line, none := strings.CutPrefix(line, "-") // no expiry, or no key
	line, ok = cutNumbers(line, &pttl, &a.Position, &a.Score, &seconds, &micros, &inserted, &heard, &look, &holder)
	if !ok || holder > int64(len(line)) {
		return "", false
	}
	if none {
		pttl = -pttl
	}
	a.PTTL, a.PollIn = OfMillis(pttl), time.Duration(min(look, maxPollIn))*time.Millisecond
	a.Server = seconds*1_000_000 + micros
	a.Inserted, a.Listening = inserted == 1, heard == 1
	a.Holder = line[:holder]
	return line[holder:], true
}

// cutNumbers takes numbers off the front of a line, of at most 16 digits each: no sum of two
// overflows.
func cutNumbers(line string, numbers ...*int64) (rest string, ok bool) {
	for _, n := range numbers {
		var word string
		word, line, _ = strings.Cut(line, " ")
		if len(word) == 0 || len(word) > 16 {
			return "", false
		}
		value := int64(0)
		for i := range len(word) {
			if word[i] < '0' || word[i] > '9' {
				return "", false
			}
			value = 10*value + int64(word[i]-'0')
		}
		*n = value
	}
	return line, true
}

func (a *Answer) set(field, value string) error {
	switch field {
	case "holder":
		a.Holder = value
		return nil
	case "refused":
		a.Refused = value
		return nil
	case "reason":
		a.Reason = CleanReason(value)
		return nil
	case "run":
		a.Run = value
		return nil
	case "mark":
		a.Mark = value
		return nil
	case "kind":
		a.Kind = value
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return errors.New("not a number")
	}
	switch field {
	case "base":
		a.Base = n
	case "size":
		a.Size = n
	case "waiting":
		a.Waiting = n
	case "server":
		a.Server = n
	case "pttl":
		a.PTTL = OfMillis(n)
	case "notified":
		a.Notified = n
	case "capacity":
		a.Capacity = n
	}
	return nil
}

// check returns an error if a figure is out of range.
func (a *Answer) check() error {
	if a.Base < 0 || a.Size < 0 || a.Size > MaxTokenBlock || a.Base > protocol.MaxToken-a.Size ||
		a.Waiting < 0 || a.Server < 0 || a.Server > protocol.MaxToken || a.Position < 0 || a.Score < 0 || a.Notified < 0 {
		return fmt.Errorf("an answer %q with a figure out of range", a.Word)
	}
	if a.Word == Granted && a.Size == 0 {
		return errors.New("a grant without tokens")
	}
	return nil
}
