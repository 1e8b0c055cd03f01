package keyspace

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// ID is what can be read from an id. An id names one tenure. It is written
// <client>.<nonce>.<ttl ms>|<owner>, for the shared kinds
// <client>.<nonce>.<ttl ms>.<letter><weight>|<owner>. It is a capability: whichever
// process knows it can release the lock. So it is never logged or shown. People see the owner and,
// where they must tell tenures apart, a hash.
type ID struct {
	Client string
	TTL    time.Duration
	Owner  string
	Letter byte  // of a shared kind; 0: a mutex
	Weight int64 // of a shared kind
}

// The letters of the shared kinds.
const (
	Permits byte = 's' // of a semaphore
	Reader  byte = 'r'
	Writer  byte = 'w'
)

var idEncoding = base64.RawURLEncoding

// NewClientID makes the 128 random bits that name a Client.
func NewClientID(random func() uint64) string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], random())
	binary.LittleEndian.PutUint64(b[8:], random())
	return idEncoding.EncodeToString(b[:])
}

// NewID makes an id. prefix is the Client and a dot, suffix is of [Mark] and of [Suffix] or [SharedSuffix]. The
// nonce is random and not counted: a cloned machine must not repeat it.
func NewID(prefix string, random func() uint64, suffix string) string {
	var nonce [8]byte
	binary.LittleEndian.PutUint64(nonce[:], random())
	var room [128]byte // most ids are shorter
	id := append(room[:0], prefix...)
	id = idEncoding.AppendEncode(id, nonce[:])
	id = append(id, suffix...)
	return string(id)
}

// Mark stands behind the nonce in the ids of a Client whose tokens Redis remembers for less time
// than by default, because another Client may hand the name over to such an id. 0: the default,
// without a mark. A script sees by the length of the nonce that there is one, so old versions
// take it for a part of the nonce and remember the tokens for longer.
func Mark(memory time.Duration) string {
	if memory == 0 {
		return ""
	}
	return "m" + strconv.FormatInt(memory.Milliseconds(), 10)
}

// Suffix is what the ids of a Mutex end with. owner must be clean.
func Suffix(ttl time.Duration, owner string) string {
	return "." + strconv.FormatInt(ttl.Milliseconds(), 10) + "|" + owner
}

// SharedSuffix is what the ids of a shared kind end with. owner must be clean.
func SharedSuffix(ttl time.Duration, letter byte, weight int64, owner string) string {
	return "." + strconv.FormatInt(ttl.Milliseconds(), 10) + "." + string(rune(letter)) + strconv.FormatInt(weight, 10) + "|" + owner
}

// maxID is protocol.MaxText: a script reads one byte more of a value, so a longer one is no id.
const maxID = 1023

// ParseID reads an id. ok is false for a value that is none of holdfast's.
func ParseID(value string) (id ID, ok bool) {
	head, owner, ok := strings.Cut(value, "|")
	if !ok || len(value) > maxID {
		return ID{}, false
	}
	part := strings.Split(head, ".")
	if len(part) == 4 && parsePart(part[3], &id) {
		part = part[:3]
	}
	if len(part) != 3 || !IsWord(part[0]) || !IsWord(part[1]) {
		return ID{}, false
	}
	ms, err := strconv.ParseUint(part[2], 10, 31)
	if err != nil || part[2][0] == '0' || len(part[2]) > 9 { // scripts use no other: see part/notify.lua
		return ID{}, false
	}
	id.Client, id.TTL, id.Owner = part[0], time.Duration(ms)*time.Millisecond, CleanOwner(owner)
	return id, true
}

// parsePart reads what an id of a shared kind has more: its letter and weight.
func parsePart(part string, id *ID) bool {
	if part == "" || part[0] != Permits && part[0] != Reader && part[0] != Writer {
		return false
	}
	weight, err := strconv.ParseUint(part[1:], 10, 31)
	if err != nil || weight == 0 || part[1] == '+' {
		return false
	}
	id.Letter, id.Weight = part[0], int64(weight)
	return true
}

// IsWord reports whether s has letters, digits, "-" and "_" only, and one at least.
func IsWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// HashID is how a tenure is named to people: 10 hex digits of the SHA-256 of
// its id, from which the id can't be found.
func HashID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:5])
}

// IsHash reports whether a text can be a hash of [HashID] or [HashClient].
func IsHash(text string) bool {
	return len(text) == 10 && strings.Trim(text, "0123456789abcdef") == ""
}

// HashClient is how a Client is named to people, for the same reason; empty for
// none.
func HashClient(client string) string {
	if client == "" {
		return ""
	}
	return HashID(client)
}

// Version is the version of the protocol that this code speaks. What it stores bears no mark. A later
// version begins what it stores in a key of a name with its own: v<version>|. See
// docs/adr/0043-another-version.md.
const Version = 1

// OtherVersion returns the version of the protocol that wrote a value, or 0 if it is this one's or
// foreign.
func OtherVersion(value string) int {
	mark, _, ok := strings.Cut(value, "|")
	digits, marked := strings.CutPrefix(mark, "v")
	version, err := strconv.ParseUint(digits, 10, 31)
	if !ok || !marked || err != nil {
		return 0
	}
	return int(version)
}

// cooldown begins the value that MinHold leaves in the lock key. The owner follows.
const cooldown = "cooldown|"

// IsCooldown reports whether the value of a lock key says that the name is in cool-down.
func IsCooldown(value string) bool { return strings.HasPrefix(value, cooldown) }

// CooldownOwner returns the owner before the cool-down of a name, if it is in one.
func CooldownOwner(value string) (owner string, ok bool) {
	if !IsCooldown(value) {
		return "", false
	}
	return CleanOwner(value[len(cooldown):]), true
}

// WithoutToken returns the id in the value of a lock key on a node of a quorum: what stands
// before the token, or the whole value if there is none.
func WithoutToken(value string) string {
	if end := strings.LastIndexByte(value, ':'); end >= 0 && TokenOf(value) > 0 {
		return value[:end]
	}
	return value
}

// TokenOf returns the token behind the last colon of such a value, 0 if there is none.
func TokenOf(value string) int64 {
	token, err := strconv.ParseUint(value[strings.LastIndexByte(value, ':')+1:], 10, 53)
	if err != nil || !strings.Contains(value, ":") {
		return 0
	}
	return int64(token)
}
