package wire

import (
	"strings"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
)

// Denied reports whether a server refused because its user lacks a right. Redis 6 and 7.0
// say the second text from within a script, Redis 7.2 and newer the third.
func Denied(said string) bool {
	return strings.HasPrefix(said, "NOPERM") ||
		strings.Contains(said, "The user executing the script") ||
		strings.Contains(said, "ACL failure in script")
}

// missingRight names the right that a refusal is about, as ACL SETUSER writes it.
// l is a key of the lock, or empty. Servers that do not say which command of a
// script they refused say in which line of it.
func missingRight(said, l string) string {
	if _, rest, ok := strings.Cut(said, "permissions to run the '"); ok {
		if command, _, ok := strings.Cut(rest, "' command"); ok {
			return "+" + command
		}
	}
	switch {
	case strings.Contains(said, "channel"):
		return "&" + keyspace.Channels
	case strings.Contains(said, " key"):
		if l == "" {
			return "~" + keyspace.Reserved + "*"
		}
		return "~" + keyspace.Shorten(l) + " and ~" + keyspace.Reserved + "*"
	}
	return CommandRights(script.Blamed(said))
}

// CommandRights names the rights to run one of some commands.
func CommandRights(commands []string) string {
	rights := make([]string, len(commands))
	for i, command := range commands {
		if command == "pubsub" {
			command = "pubsub|numsub (in a Cluster +pubsub|shardnumsub)"
		}
		if command == "memory" {
			command = "memory|usage"
		}
		rights[i] = "+" + command
	}
	return strings.Join(rights, " or ")
}

// tooOld explains an error that shows that the server is too old. It is empty for all others.
func tooOld(said string) string {
	switch {
	case strings.Contains(said, "non deterministic commands"):
		return "the server is too old, or set to lua-replicate-commands no: it repeats a script's text on replicas, so a script that read the clock may not write; holdfast needs Redis 5 or newer, or Valkey"
	case strings.Contains(strings.ToLower(said), "unknown command"), strings.Contains(said, "Unknown Redis command"), strings.Contains(said, "nknown PUBSUB subcommand"):
		return "the server lacks a command: holdfast needs Redis 5 or newer (in a Cluster Redis 7), or Valkey; if the server is a Sentinel, use sentinel://"
	}
	return ""
}
