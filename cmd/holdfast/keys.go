package main

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1; nothing is secured by it
	"encoding/hex"
	"strings"

	"github.com/holdfast-go/holdfast"
)

// The scripts of the demo. The first makes any command with one key out of a
// Store, so that the demo runs on each deployment that holdfast runs on.
var (
	anyCommand = newScript("command", `return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))`)
	deleteAny  = newScript("delete-any", `local v = redis.call('GET', KEYS[1]); redis.call('DEL', KEYS[1]); return v`)
	deleteOwn  = newScript("delete-own", `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
)

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
