package keyspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// QuorumID names a quorum with a certain list of members:
// <name>/<epoch>/<size>-<hash of the members' addresses>. Each node bears that
// of the one quorum it votes in, so clients with an old list and clients with a
// new one can't both find a majority.
type QuorumID struct {
	Name  string
	Epoch int
	Size  int
	Hash  string
}

// String returns the text of the id.
func (id QuorumID) String() string {
	return fmt.Sprintf("%s/%d/%d-%s", id.Name, id.Epoch, id.Size, id.Hash)
}

var errQuorumID = errors.New(`is not a quorum-id: 'holdfast quorum init' prints it, such as "orders/1/3-5f3a9c0d1e" (name, epoch, size and hash of the members)`)

// ParseQuorumID reads an id. The error is the end of a sentence about the text.
func ParseQuorumID(text string) (QuorumID, error) {
	part := strings.Split(text, "/")
	if len(part) != 3 || !IsQuorumName(part[0]) {
		return QuorumID{}, errQuorumID
	}
	size, hash, _ := strings.Cut(part[2], "-")
	id := QuorumID{Name: part[0], Hash: hash}
	var err, err2 error
	id.Epoch, err = strconv.Atoi(part[1])
	id.Size, err2 = strconv.Atoi(size)
	if err != nil || err2 != nil || id.Epoch < 1 || id.Size < 3 || id.Size%2 == 0 || id.String() != text || !IsWord(hash) {
		return QuorumID{}, errQuorumID
	}
	return id, nil
}

// IsQuorumName reports whether s has at most 64 letters, digits, "-" and "_", and one at
// least.
func IsQuorumName(s string) bool { return len(s) <= 64 && IsWord(s) }

// NewQuorumID makes the id of a list of members.
func NewQuorumID(name string, epoch int, addresses []string) QuorumID {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(addresses)), "\n")))
	return QuorumID{Name: name, Epoch: epoch, Size: len(addresses), Hash: hex.EncodeToString(sum[:5])}
}

// Fenced returns the mark of a node that was taken out of a quorum for another one: it
// votes in neither until it has the new id.
func Fenced(from, to QuorumID) string { return from.String() + ">" + to.String() }
