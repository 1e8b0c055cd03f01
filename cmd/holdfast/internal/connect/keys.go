package connect

import (
	"context"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
)

// AnyCommand makes any command with one key out of a Store, so that a command of ours runs
// on each deployment that holdfast runs on.
var AnyCommand = driver.NewScript("command", `return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))`)

// KeysBeside are all keys that a mutex of key can have: see the table of keys in
// docs/protocol.md.
func KeysBeside(key string) []string {
	tag := "{" + key + "}"
	if strings.Contains(key, "{") { // it has a tag of its own
		tag = ":" + key
	}
	return []string{key, "holdfast/fence:" + tag, "holdfast/queue:" + tag}
}

// DeleteKeys deletes keys, which may be in different slots of a Cluster.
func DeleteKeys(ctx context.Context, store driver.Store, keys []string) error {
	calls := make([]driver.Call, len(keys))
	for i, key := range keys {
		calls[i] = driver.Call{Script: AnyCommand, Keys: []string{key}, Args: []string{"DEL"}}
	}
	for _, result := range store.EvalAll(ctx, calls) {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
}
