package keyspace

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxOwner is the length of the longest owner, in bytes.
const MaxOwner = 64

// CleanOwner makes a label that can't break the format of an id. It replaces "|", too, and
// cuts to [MaxOwner].
func CleanOwner(s string) string { return Clean(strings.ReplaceAll(s, "|", "_"), MaxOwner) }

// Clean makes text that is safe to store and to show: without spaces around it, with "_" for
// each character that is not printable, and cut to most bytes.
func Clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, strings.TrimSpace(s))
	if len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = strings.Clone(s[:cut]) // a foreign value may be long
	}
	return s
}

// Shorten cuts what a message shows to 80 bytes.
func Shorten(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}
