package order

import (
	"os"
	"os/user"
	"strings"
)

// Options are the flags of `holdfast revoke` and `holdfast steal`.
type Options struct{ Tenure, Reason string }

// Signed is the reason with the name of its author, if there is room: the library stores
// only the reason.
func (o Options) Signed(owner string) string {
	if owner == "" {
		if who, err := user.Current(); err == nil {
			owner = who.Username
		}
		if host, err := os.Hostname(); err == nil {
			owner += "@" + host
		}
	}
	text := strings.TrimSpace(o.Reason) + " (by " + owner + ")"
	if len(text) > maxReason {
		return o.Reason
	}
	return text
}

// maxReason is what the library cuts reasons to, in bytes.
const maxReason = 200

// IsHash reports whether text can be the hash of a tenure.
func IsHash(text string) bool {
	return len(text) == 10 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}
