package wire

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
)

// PushWord is the first word of a push.
type PushWord uint8

// The words of pushes, see [DecodePush].
const (
	PushGrant PushWord = iota + 1
	PushHead
	PushFront
	PushMissed
	PushRecall
	PushRevoked
)

var pushWords = []string{"", "grant", "head", "front", "missed", "recall", "revoked"}

func (w PushWord) String() string { return pushWords[w] }

// Push is a decoded push. It is a hint: anybody may publish.
type Push struct {
	Word    PushWord
	ID      string
	Base    int64 // grant
	Size    int64
	Server  int64
	Window  time.Duration // grant: the claim window; head, front: until it is time to poll, negative: none
	Waiting int64
}

var errPush = errors.New("an unknown push")

// DecodePush reads one of
//
//	grant <last> <size> <waiting> <seconds> <us> <window ms> <id>
//	head <pttl ms> <id>
//	front <ms> <id>
//	missed <id>
//	recall <id>
//	revoked <id>
//
// The id comes last, because its owner may have spaces.
func DecodePush(payload string) (Push, error) {
	text, rest, _ := strings.Cut(payload, " ")
	word := slices.Index(pushWords, text)
	if word < 1 {
		return Push{}, errPush
	}
	m := Push{Word: PushWord(word)}
	var last, seconds, micros, life int64
	var figures []*int64
	//exhaustive:enforce
	switch m.Word {
	case PushGrant:
		figures = []*int64{&last, &m.Size, &m.Waiting, &seconds, &micros, &life}
	case PushHead, PushFront:
		figures = []*int64{&life}
	case PushMissed, PushRecall, PushRevoked:
	}
	for _, f := range figures {
		word, more, ok := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(word, 10, 64)
		if !ok || err != nil || n < 0 && m.Word == PushGrant || n > protocol.MaxToken {
			return Push{}, errPush
		}
		*f, rest = n, more
	}
	m.ID = rest
	m.Base, m.Server = last-m.Size+1, seconds*1_000_000+micros
	m.Window = time.Duration(min(life, 1<<40)) * time.Millisecond
	if _, ok := keyspace.ParseID(m.ID); !ok || m.Size > MaxTokenBlock || m.Word == PushGrant && (m.Size == 0 || m.Base < 0 || seconds > protocol.MaxToken/1_000_000 || life == 0 || life > protocol.ClaimWindow.Milliseconds()) {
		return Push{}, errPush
	}
	return m, nil
}
