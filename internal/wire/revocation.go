package wire

import (
	"errors"
	"strings"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

var (
	errNoReason = errors.New("a reason is required: the holder reads it")
	errNoHash   = errors.New("a tenure is given by its hash, ten hexadecimal digits, as Inspect and 'holdfast show' give it")
)

// Revocation cleans what a caller gives to revoke or steal a tenure: its hash and a
// reason. The error is the end of a sentence about the name.
func Revocation(hash, reason string) (cleanHash, cleanReason string, err error) {
	hash, reason = strings.ToLower(hash), CleanReason(reason)
	switch {
	case !keyspace.IsHash(hash):
		return "", "", errNoHash
	case reason == "":
		return "", "", errNoReason
	}
	return hash, reason, nil
}
