package main

import (
	"os"
	"os/user"
	"strings"
)

// orderOptions are the flags of `holdfast revoke` and `holdfast steal`.
type orderOptions struct{ tenure, reason string }

// signed is the reason with the name of its author, if there is room: the library stores
// only the reason.
func (o orderOptions) signed(owner string) string {
	if owner == "" {
		if who, err := user.Current(); err == nil {
			owner = who.Username
		}
		if host, err := os.Hostname(); err == nil {
			owner += "@" + host
		}
	}
	text := strings.TrimSpace(o.reason) + " (by " + owner + ")"
	if len(text) > maxReason {
		return o.reason
	}
	return text
}

// maxReason is what the library cuts reasons to, in bytes.
const maxReason = 200

// isHash reports whether text can be the hash of a tenure.
func isHash(text string) bool {
	return len(text) == 10 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}
