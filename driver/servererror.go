package driver

import (
	"errors"
	"slices"
	"strings"
)

// ServerError is the text of an error reply of the server. An example is "NOPERM User
// app has no permissions to run the 'evalsha' command".
type ServerError string

func (e ServerError) Error() string { return string(e) }

// UnknownScript reports whether err is, or wraps, the [ServerError] NOSCRIPT: the server does
// not know the SHA of a script. The script has not run. The driver sends it by its source.
func UnknownScript(err error) bool {
	said, ok := errors.AsType[ServerError](err)
	return ok && strings.HasPrefix(string(said), "NOSCRIPT")
}

// Redirected reports whether err is, or wraps, a [ServerError] with which a node of a Cluster
// names another node: "MOVED 3999 127.0.0.1:6381" or "ASK 3999 127.0.0.1:6381". The call has
// not run. Most client libraries follow by themselves; a driver does where it chooses a node,
// as in EvalWait and Subscribe.
//
// addr is the address of the other node. If it has no host, as in ":6381", the host is that of
// the node that answered. asking is true for ASK: the slot is moving, and the other node takes
// each command of it only after an ASKING on the same connection.
func Redirected(err error) (addr string, asking, ok bool) {
	said, _ := errors.AsType[ServerError](err)
	words := strings.Fields(string(said))
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return "", false, false
	}
	return words[2], words[0] == "ASK", true
}

// WrongServer reports whether err is, or wraps, a [ServerError] that only a replica sends: READONLY,
// MASTERDOWN, or WAIT on a replica. The call that got it has written nothing. Another server is the
// master, and only a new connection can reach it. [Redial] does what a driver has to do then.
//
// MISCONF is no such error: a master says it, too, when its disk is full.
func WrongServer(err error) bool {
	said, ok := errors.AsType[ServerError](err)
	if !ok {
		return false
	}
	// Whole sentences: a script of the user may return an error of its own that begins with READONLY.
	// Before Redis 7 there is more in front of an error in a script.
	return slices.ContainsFunc([]string{
		"READONLY You can't write against a",
		"MASTERDOWN Link with MASTER is down",
	}, func(sentence string) bool {
		return strings.HasPrefix(string(said), sentence) || strings.Contains(string(said), "-"+sentence)
	}) || strings.Contains(string(said), "WAIT cannot be used with replica")
}
