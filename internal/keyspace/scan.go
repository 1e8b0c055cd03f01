package keyspace

import (
	"slices"
	"strings"
)

// listing are the keys that show that a name is used: it has a fence key for a day after each
// lock, the others while it is held or waited for.
var listing = []string{fencePrefix, queuePrefix, holdersPrefix, wantedPrefix}

// Listing returns a glob pattern for one SCAN that finds every name whose lock key begins with
// start: it matches these lock keys, and the keys beside them for which [NameOf] returns a
// name. It also matches some other keys. If start is empty, it matches no lock key: every key
// could be one.
func Listing(start string) string {
	open := "{"
	switch {
	case start == "":
		open = ""
	case tagged(start):
		open = ":"
	}
	var all []string
	for _, prefix := range listing {
		all = append(all, prefix+open+start)
	}
	if start != "" {
		all = append(all, start)
	}
	var b strings.Builder
	for at := 0; ; at++ {
		var here []byte // what the keys have there
		for _, text := range all {
			if at == len(text) || text[at] >= 0x80 || text[at] == '\\' { // servers match these differently
				return b.String() + "*"
			}
			if !slices.Contains(here, text[at]) {
				here = append(here, text[at])
			}
		}
		class := escaped(here)
		if len(here) > 1 {
			class = "[" + class + "]"
		}
		b.WriteString(class)
	}
}

// escaped escapes characters that are special in a pattern.
func escaped(chars []byte) string {
	var b strings.Builder
	for _, c := range chars {
		if strings.IndexByte("*?[]^-", c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// NameOf returns the name of a key that [Listing] matches, if prefix and that name make it. used
// is true if the key shows that holdfast uses the name. It is false for a lock key, which may
// also be any key of another program.
func NameOf(prefix, key string) (name string, used, ok bool) {
	lock := key
	for _, kind := range listing {
		if rest, is := strings.CutPrefix(key, kind); is {
			if lock = strings.TrimPrefix(rest, ":"); lock == rest {
				lock = strings.TrimSuffix(strings.TrimPrefix(rest, "{"), "}")
			}
			if kind+beside(lock) != key {
				return "", false, false
			}
			used = true
			break
		}
	}
	name, ok = strings.CutPrefix(lock, prefix)
	if !ok || name == "" || checkKey(lock) != nil {
		return "", false, false
	}
	return name, used, true
}
