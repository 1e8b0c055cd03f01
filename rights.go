package holdfast

import (
	"strings"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
)

// denied tells a refusal for want of a right. The second is what Redis 6 and 7.0
// say from within a script, the third is from 7.2 on.
func denied(said string) bool {
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
		return "~" + shorten(l) + " and ~" + keyspace.Reserved + "*"
	}
	return commandRights(script.Blamed(said))
}

// commandRights names the rights to run one of some commands.
func commandRights(commands []string) string {
	rights := make([]string, len(commands))
	for i, command := range commands {
		if command == "pubsub" {
			command = "pubsub|numsub (in a Cluster +pubsub|shardnumsub)"
		}
		rights[i] = "+" + command
	}
	return strings.Join(rights, " or ")
}

// tooOld says why a server cannot do, where what it said shows that.
func tooOld(said string) string {
	switch {
	case strings.Contains(said, "non deterministic commands"):
		return "the server is too old, or set to lua-replicate-commands no: it repeats a script's text on replicas, so a script that read the clock may not write; holdfast needs Redis 5 or newer, or Valkey"
	case strings.Contains(strings.ToLower(said), "unknown command"), strings.Contains(said, "Unknown Redis command"), strings.Contains(said, "nknown PUBSUB subcommand"):
		return "the server lacks a command: holdfast needs Redis 5 or newer (in a Cluster Redis 7), or Valkey"
	}
	return ""
}
