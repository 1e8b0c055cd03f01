package exported

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Hold is the content of an exported text. The text begins with a word that names its form. In
// base64 follow the prefix, the name, the id, two tokens and, for an election, the value, with
// a zero byte between them. A checksum protects them against errors in copying.
type Hold struct {
	Prefix, Name, ID string
	Token            int64 // of the lease that was exported
	Last             int64 // the highest that its tenure reserved

	Leads bool   // it is the term of an election
	Value string // what its leader proclaimed last, or campaigned with
}

const formWord = "holdfast1-"

// otherForm reads the word of another version's form.
var otherForm = regexp.MustCompile(`^holdfast(\d+)-`)

// ErrText means that a text is not the complete text of a Hold.
var ErrText = errors.New("not the complete text of a Lease.Export")

// Text returns one line of printable ASCII without spaces.
func (h Hold) Text() string {
	fields := []string{h.Prefix, h.Name, h.ID, strconv.FormatInt(h.Token, 10), strconv.FormatInt(h.Last, 10)}
	if h.Leads {
		fields = append(fields, h.Value)
	}
	data := []byte(strings.Join(fields, "\x00"))
	data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
	return formWord + base64.RawURLEncoding.EncodeToString(data)
}

// Shared reports whether the hold is a part of a semaphore or of an RWMutex.
func (h Hold) Shared() bool {
	id, _ := keyspace.ParseID(h.ID)
	return id.Letter != 0
}

// Permits reports whether the hold is a part of a semaphore.
func (h Hold) Permits() bool {
	id, _ := keyspace.ParseID(h.ID)
	return id.Letter == keyspace.Permits
}

// Parse reads a result of [Hold.Text]. It ignores spaces around the text. For any other text it
// returns [ErrText], or a [wire.VersionError] if another version of holdfast wrote it.
func Parse(text string) (Hold, error) {
	coded, ok := strings.CutPrefix(strings.TrimSpace(text), formWord)
	if other := otherForm.FindStringSubmatch(strings.TrimSpace(text)); other != nil && !ok {
		version, _ := strconv.Atoi(other[1])
		return Hold{}, &wire.VersionError{Version: version}
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(coded)
	if !ok || err != nil || len(data) < 4 {
		return Hold{}, ErrText
	}
	body, sum := data[:len(data)-4], data[len(data)-4:]
	parts := strings.Split(string(body), "\x00")
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) || len(parts) != 5 && len(parts) != 6 {
		return Hold{}, ErrText
	}
	token, err := strconv.ParseUint(parts[3], 10, 53)
	last, err2 := strconv.ParseUint(parts[4], 10, 53)
	if _, ours := keyspace.ParseID(parts[2]); !ours || err != nil || err2 != nil {
		return Hold{}, ErrText
	}
	h := Hold{Prefix: parts[0], Name: parts[1], ID: parts[2], Token: int64(token), Last: int64(last)}
	if len(parts) == 6 {
		h.Leads, h.Value = true, parts[5]
		if len(h.Value) > keyspace.MaxOwner || keyspace.CleanOwner(h.Value) != h.Value {
			return Hold{}, ErrText
		}
	}
	return h, nil
}
