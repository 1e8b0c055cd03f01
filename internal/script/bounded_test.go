package script

import (
	"regexp"
	"testing"
)

var readsWhole = regexp.MustCompile(`call\('(GET|MGET|GETDEL|GETEX|HKEYS|HVALS|SMEMBERS)'`)

// Any program may have stored 490 MB under a key. A script that reads them whole stops the server for
// seconds, and the others lose their leases: GETRANGE reads the beginning.
func TestTextsAreReadByGETRANGE(t *testing.T) {
	for _, f := range All() {
		if m := readsWhole.FindString(f.Source); m != "" {
			t.Errorf("%s.lua reads a text whole by %s: use GETRANGE key, '0', '{{text_end}}'", f.Path, m)
		}
	}
}
