package connect

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing is secured by it
	"encoding/hex"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
)

// AnyCommand makes any command with one key out of a Store, so that a command of ours runs
// on each deployment that holdfast runs on.
var AnyCommand = NewScript("command", `return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))`)

// NewScript is a script of the command's own.
func NewScript(name, source string) *driver.Script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	return &driver.Script{Name: name, Source: source, SHA: hex.EncodeToString(sum[:])}
}

// KeysBeside are all keys that a mutex of key can have: see the table of keys in
// docs/protocol.md.
func KeysBeside(key string) []string {
	tag := "{" + key + "}"
	if strings.Contains(key, "{") { // it has a tag of its own
		tag = ":" + key
	}
	return []string{key, "holdfast/fence:" + tag, "holdfast/queue:" + tag}
}
