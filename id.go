package holdfast

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// An id names one tenure: <client>.<nonce>.<ttl ms>|<owner>, of the shared kinds
// <client>.<nonce>.<ttl ms>.<letter><weight>|<owner>. It is a capability, whoever
// knows it can release the lock, so it is never logged or shown; people see the
// owner and, where they must tell tenures apart, a hash.

var idEncoding = base64.RawURLEncoding

// newClientID makes the 128 random bits that name a Client.
func newClientID(random func() uint64) string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], random())
	binary.LittleEndian.PutUint64(b[8:], random())
	return idEncoding.EncodeToString(b[:])
}

// newID makes an id. Its nonce is random and not counted: a cloned machine must
// not repeat it.
func newID(head string, random func() uint64, tail string) string {
	var nonce [8]byte
	binary.LittleEndian.PutUint64(nonce[:], random())
	var room [128]byte // most ids are shorter
	id := append(room[:0], head...)
	id = idEncoding.AppendEncode(id, nonce[:])
	id = append(id, tail...)
	return string(id)
}

// idTail is what all ids of a Client end with.
func idTail(ttl time.Duration, owner string) string {
	return "." + strconv.FormatInt(ttl.Milliseconds(), 10) + "|" + owner
}

// parsedID is what can be read from the value of L.
type parsedID struct {
	client string
	ttl    time.Duration
	owner  string
	letter byte  // of a shared kind; 0: a mutex
	weight int64 // of a shared kind
}

// parseID reads an id; ok is false for a value that is none of holdfast's.
func parseID(value string) (id parsedID, ok bool) {
	head, owner, ok := strings.Cut(value, "|")
	if !ok {
		return parsedID{}, false
	}
	part := strings.Split(head, ".")
	if len(part) == 4 && parsePart(part[3], &id) {
		part = part[:3]
	}
	if len(part) != 3 || !idWord(part[0]) || !idWord(part[1]) {
		return parsedID{}, false
	}
	ms, err := strconv.ParseUint(part[2], 10, 31)
	if err != nil || ms == 0 || part[2][0] == '+' {
		return parsedID{}, false
	}
	id.client, id.ttl, id.owner = part[0], time.Duration(ms)*time.Millisecond, cleanOwner(owner)
	return id, true
}

// parsePart reads what an id of a shared kind has more: its letter and weight.
func parsePart(part string, id *parsedID) bool {
	if part == "" || kindOf(part[0]) == KindMutex {
		return false
	}
	weight, err := strconv.ParseUint(part[1:], 10, 31)
	if err != nil || weight == 0 || part[1] == '+' {
		return false
	}
	id.letter, id.weight = part[0], int64(weight)
	return true
}

// resting tells the value that MinHold leaves behind.
func resting(value string) bool { return strings.HasPrefix(value, "rest|") }

func idWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// hashID is how a tenure is named to people: 10 hex digits of the SHA-256 of
// its id, from which the id can't be found.
func hashID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:5])
}

// hashClient is how a Client is named to people, for the same reason; empty for
// none.
func hashClient(client string) string {
	if client == "" {
		return ""
	}
	return hashID(client)
}

// On a quorum L is id:token. bareID is what stands before the token.
func bareID(value string) string {
	if end := strings.LastIndexByte(value, ':'); end >= 0 && tokenOf(value) > 0 {
		return value[:end]
	}
	return value
}

// tokenOf is the token behind the last colon, 0 if there is none.
func tokenOf(value string) int64 {
	token, err := strconv.ParseUint(value[strings.LastIndexByte(value, ':')+1:], 10, 53)
	if err != nil || !strings.Contains(value, ":") {
		return 0
	}
	return int64(token)
}
