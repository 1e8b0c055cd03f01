package holdfast

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// A quorum-id names a quorum with a certain list of members:
// <name>/<epoch>/<size>-<hash of the members' addresses>. Each node bears that
// of the one quorum it votes in, so clients with an old list and clients with a
// new one can't both find a majority.
type quorumID struct {
	name  string
	epoch int
	size  int
	hash  string
}

func (id quorumID) String() string {
	return fmt.Sprintf("%s/%d/%d-%s", id.name, id.epoch, id.size, id.hash)
}

var errQuorumID = errors.New(`is not a quorum-id: 'holdfast quorum init' prints it, such as "orders/1/3-5f3a9c0d1e" (name, epoch, size and hash of the members)`)

func parseQuorumID(text string) (quorumID, error) {
	part := strings.Split(text, "/")
	if len(part) != 3 || !quorumName(part[0]) {
		return quorumID{}, errQuorumID
	}
	size, hash, _ := strings.Cut(part[2], "-")
	id := quorumID{name: part[0], hash: hash}
	var err, err2 error
	id.epoch, err = strconv.Atoi(part[1])
	id.size, err2 = strconv.Atoi(size)
	if err != nil || err2 != nil || id.epoch < 1 || id.size < 3 || id.size%2 == 0 || id.String() != text || !keyspace.IsWord(hash) {
		return quorumID{}, errQuorumID
	}
	return id, nil
}

// quorumName: letters, digits, "-" and "_", at most 64.
func quorumName(s string) bool { return len(s) <= 64 && keyspace.IsWord(s) }

// newQuorumID makes the id of a list of members.
func newQuorumID(name string, epoch int, members []QuorumMember) quorumID {
	addresses := make([]string, len(members))
	for i, m := range members {
		addresses[i] = m.Address
	}
	slices.Sort(addresses)
	sum := sha256.Sum256([]byte(strings.Join(addresses, "\n")))
	return quorumID{name: name, epoch: epoch, size: len(members), hash: hex.EncodeToString(sum[:5])}
}

// fenced is the mark of a node that was taken out of a quorum for another one:
// it votes in neither until it bears the new id.
func fenced(from, to quorumID) string { return from.String() + ">" + to.String() }

// QuorumSize returns the number of members of the quorum with this quorum-id, or 0 if
// id is not a quorum-id.
func QuorumSize(id string) int {
	parsed, err := parseQuorumID(id)
	if err != nil {
		return 0
	}
	return parsed.size
}
