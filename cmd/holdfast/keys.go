package main

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing is secured by it
	"encoding/hex"
	"strings"

	"github.com/holdfast-go/holdfast"
)

// anyCommand makes any command with one key out of a Store, so that a command of ours runs
// on each deployment that holdfast runs on.
var anyCommand = newScript("command", `return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))`)

func newScript(name, source string) *holdfast.Script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	return &holdfast.Script{Name: name, Source: source, SHA: hex.EncodeToString(sum[:])}
}

// keysBeside are all keys that a mutex of key can have: see the table of keys in
// docs/protocol.md.
func keysBeside(key string) []string {
	tag := "{" + key + "}"
	if strings.Contains(key, "{") { // it has a tag of its own
		tag = ":" + key
	}
	return []string{key, "holdfast/fence:" + tag, "holdfast/queue:" + tag}
}
