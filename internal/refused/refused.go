// Package refused reads what a server's error asks a driver to do: send a script by its
// source, or ask another node of a Cluster.
package refused

import (
	"errors"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
)

// UnknownScript reports whether the server does not know the SHA of a script.
func UnknownScript(err error) bool {
	said, ok := errors.AsType[driver.ServerError](err)
	return ok && strings.HasPrefix(string(said), "NOSCRIPT")
}

// Redirected returns the address of the node that a MOVED or ASK names. asking: it is ASK, so
// the slot is moving there, and each command needs an ASKING before it.
func Redirected(err error) (addr string, asking, ok bool) {
	said, _ := errors.AsType[driver.ServerError](err)
	words := strings.Fields(string(said))
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return "", false, false
	}
	return words[2], words[0] == "ASK", true
}
