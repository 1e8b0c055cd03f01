package holdfast

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// answer is a decoded reply of a script. Which fields count depends on word;
// docs/protocol.md has the table.
type answer struct {
	word     string
	base     int64 // granted, renewed: first token of the stride; 1 if there is none
	size     int64
	waiting  int64         // granted, renewed, held: ids in Q
	server   int64         // the server's time in microseconds
	holder   string        // held, queued, lost, not held: the value of L; empty: none
	pttl     time.Duration // held, queued: of L; negative: no expiry. released, of a quorum's node: of the mark of a waiter
	position int64         // queued: 0 is the head
	score    int64         // queued: arrival in microseconds
	inserted bool          // queued: by this very request
	heard    bool          // queued: our own channel has a listener
	refused  string        // what the server said when it refused to publish
	reason   string        // revoked, stolen: why
	told     int64         // told: how many heard the push
	run      string        // a quorum's node: which run of which server answered
	mark     string        // no member: the quorum-id that the node bears
	kind     string        // other kind: which one the name is
	capacity int64         // other kind, too many: its size; 0: it has none, or it is not known. Else its size where we said another
	look     time.Duration // queued, of a shared kind: when to look again
}

// forms lists the fields behind each word, in order. A field in brackets may
// be missing. What is one line of text is not here, see decodeLine.
var forms = map[string]string{
	"granted":   "base size server run", // of a quorum's node; else it is a line
	"held":      "holder pttl waiting server [refused] [run] [capacity]",
	"again":     "server",
	"released":  "refused run [pttl]", // of a quorum's node; else it is a line
	"not held":  "holder server [refused] [run] [pttl]",
	"cancelled": "server refused",
	"dropped":   "server",
	"renewed":   "server run", // of a quorum's node; else it is a line
	"kept":      "server",
	"lost":      "holder server [run]",
	"adopted":   "holder server",
	"revoked":   "reason",
	"stolen":    "reason",
	"told":      "told refused",
	"stands":    "pttl waiting server",
	"taken":     "refused",
	"ours":      "pttl [run]",
	"repaired":  "[server] [run]",
	"announced": "server refused holder",
	"unchanged": "",
	"raised":    "server run",
	"sits out":  "pttl server run",
	"no member": "mark server run",
	"marked":    "mark server run",

	"not due":    "server",
	"other kind": "kind capacity",
	"too many":   "capacity",
	"resized":    "",

	"passed": "", // what the answer for several names says of one that did not matter; see shareOf
}

func decodeAnswer(reply []string) (answer, error) {
	if len(reply) == 0 {
		return answer{}, errors.New("an empty answer")
	}
	if len(reply) == 1 {
		line, size := cutSize(reply[0])
		if a, ok := decodeLine(line); ok {
			a.capacity = size
			return a, a.check()
		}
	}
	a := answer{word: reply[0]}
	form, ok := forms[a.word]
	if !ok {
		return answer{}, fmt.Errorf("an answer that begins with %q", shorten(a.word))
	}
	rest := reply[1:]
	for field := range strings.FieldsSeq(form) {
		name, optional := strings.CutPrefix(field, "[")
		if len(rest) == 0 && optional {
			break
		}
		if len(rest) == 0 {
			return answer{}, fmt.Errorf("an answer %q without %s", a.word, field)
		}
		if err := a.set(strings.TrimSuffix(name, "]"), rest[0]); err != nil {
			return answer{}, fmt.Errorf("an answer %q whose %s is %q: %w", a.word, field, shorten(rest[0]), err)
		}
		rest = rest[1:]
	}
	return a, a.check()
}

// cutSize takes off a line that a semaphore has another size than the request said.
func cutSize(line string) (rest string, size int64) {
	if rest, ok := strings.CutPrefix(line, "sized "); ok {
		if rest, ok = cutNumbers(rest, &size); ok {
			return rest, min(size, MaxSize)
		}
	}
	return line, 0
}

// decodeLine reads the answers that come often: a line costs less than a list, here
// and in Redis. They are
//
//	granted <last> <size> <waiting> <seconds> <us> [refused]    and the same of renewed
//	queued <pttl> <position> <score> <seconds> <us> <inserted> <heard> <look> <n> <holder, n bytes>[refused]
//	released [refused]
//	again
//
// Before granted and queued stands "sized <capacity> ", see cutSize.
func decodeLine(line string) (a answer, ok bool) {
	word, rest, _ := strings.Cut(line, " ")
	a.word = word
	switch word {
	case "granted", "renewed":
		var last, seconds, micros int64
		rest, ok = cutNumbers(rest, &last, &a.size, &a.waiting, &seconds, &micros)
		a.base, a.server = last-a.size+1, seconds*1_000_000+micros
	case "queued":
		rest, ok = a.queued(rest)
	case "released", "again":
		ok = true
	}
	a.refused = rest
	return a, ok
}

// queued reads what follows the word up to the holder.
func (a *answer) queued(line string) (rest string, ok bool) {
	var pttl, seconds, micros, inserted, heard, look, holder int64
	line, none := strings.CutPrefix(line, "-") // no expiry, or no key
	line, ok = cutNumbers(line, &pttl, &a.position, &a.score, &seconds, &micros, &inserted, &heard, &look, &holder)
	if !ok || holder > int64(len(line)) {
		return "", false
	}
	if none {
		pttl = -pttl
	}
	a.pttl, a.look = time.Duration(min(pttl, maxPTTL))*time.Millisecond, time.Duration(min(look, maxLook))*time.Millisecond
	a.server = seconds*1_000_000 + micros
	a.inserted, a.heard = inserted == 1, heard == 1
	a.holder = line[:holder]
	return line[holder:], true
}

// cutNumbers takes numbers off the front of a line.
func cutNumbers(line string, numbers ...*int64) (rest string, ok bool) {
	for _, n := range numbers {
		if *n, line, ok = cutNumber(line); !ok {
			return "", false
		}
	}
	return line, true
}

// cutNumber takes a number of at most 16 digits, which no sum of two
// overflows, off the front of a line.
func cutNumber(line string) (n int64, rest string, ok bool) {
	word, rest, _ := strings.Cut(line, " ")
	if len(word) == 0 || len(word) > 16 {
		return 0, "", false
	}
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			return 0, "", false
		}
		n = 10*n + int64(word[i]-'0')
	}
	return n, rest, true
}

func (a *answer) set(field, value string) error {
	switch field {
	case "holder":
		a.holder = value
		return nil
	case "refused":
		a.refused = value
		return nil
	case "reason":
		a.reason = cleanReason(value)
		return nil
	case "run":
		a.run = value
		return nil
	case "mark":
		a.mark = value
		return nil
	case "kind":
		a.kind = value
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return errors.New("not a number")
	}
	switch field {
	case "base":
		a.base = n
	case "size":
		a.size = n
	case "waiting":
		a.waiting = n
	case "server":
		a.server = n
	case "pttl":
		a.pttl = time.Duration(min(n, maxPTTL)) * time.Millisecond
	case "told":
		a.told = n
	case "capacity":
		a.capacity = n
	}
	return nil
}

// maxPTTL bounds a life in ms: a foreign key may have any.
const maxPTTL = int64(1 << 62 / time.Millisecond)

// maxLook bounds, in ms, when to look again.
const maxLook = 60_000

// maxToken is the first number that a float64 can't tell from its neighbour.
const maxToken = 1 << 53

func (a *answer) check() error {
	if a.base < 0 || a.size < 0 || a.size > maxStride || a.base > maxToken-a.size ||
		a.waiting < 0 || a.server < 0 || a.server > maxToken || a.position < 0 || a.score < 0 || a.told < 0 {
		return fmt.Errorf("an answer %q with a figure out of range", a.word)
	}
	if a.word == "granted" && a.size == 0 {
		return errors.New("a grant without tokens")
	}
	return nil
}

// message is a decoded push.
type message struct {
	kind    string // grant, next, near, missed, recall or revoked
	id      string
	base    int64 // grant
	size    int64
	server  int64
	life    time.Duration // grant: the claim window; next, near: until it is time to look, negative: none
	waiting int64
}

var errMessage = errors.New("an unknown push")

// decodeMessage reads "grant <last> <size> <waiting> <seconds> <us> <window ms> <id>",
// "next <pttl ms> <id>", "near <ms> <id>", "missed <id>", "recall <id>" or "revoked <id>". The id comes last: its owner may have
// spaces.
func decodeMessage(payload string) (message, error) {
	kind, rest, _ := strings.Cut(payload, " ")
	m := message{kind: kind}
	var last, seconds, micros, life int64
	var figures []*int64
	switch kind {
	case "grant":
		figures = []*int64{&last, &m.size, &m.waiting, &seconds, &micros, &life}
	case "next", "near":
		figures = []*int64{&life}
	case "missed", "recall", "revoked":
	default:
		return message{}, errMessage
	}
	for _, f := range figures {
		word, more, ok := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(word, 10, 64)
		if !ok || err != nil || n < 0 && kind == "grant" || n > maxToken {
			return message{}, errMessage
		}
		*f, rest = n, more
	}
	m.id = rest
	m.base, m.server = last-m.size+1, seconds*1_000_000+micros
	m.life = time.Duration(min(life, 1<<40)) * time.Millisecond
	if _, ok := keyspace.ParseID(m.id); !ok || m.size > maxStride || kind == "grant" && (m.size == 0 || m.base < 0 || seconds > maxToken/1_000_000 || life == 0 || life > window.Milliseconds()) {
		return message{}, errMessage
	}
	return m, nil
}

func asServerError(err error) (driver.ServerError, bool) {
	if err == nil {
		return "", false
	}
	var said driver.ServerError
	ok := errors.As(err, &said)
	return said, ok
}
