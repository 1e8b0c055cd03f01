package keyspace

import "testing"

func TestNameOf(t *testing.T) {
	for key, want := range map[string]string{
		"holdfast/fence:{p:a}": "a", "holdfast/queue:{p:a}": "a", "holdfast/holders:{p:a:b}": "a:b", "holdfast/wanted:{p:a}": "a",
		"holdfast/fence:{p:{a}": "", "holdfast/fence:p:a": "", "holdfast/fence:{p:}": "", "holdfast/fence:{p:a}}": "", "holdfast/fence:{p:a": "",
		"holdfast/fence:{q:a}": "", "holdfast/fence::p:a": "", "holdfast/fence:{}": "", "holdfast/fence:": "", "holdfast/size:{p:a}": "",
		"": "", "p:": "", "p:\x00": "", "q:a": "", "p:a{b}": "",
	} {
		if got, used, ok := NameOf("p:", key); got != want || ok != (want != "") || used != ok {
			t.Errorf("%q: got %q, %v, %v, want %q", key, got, used, ok, want)
		}
	}
	for key, prefix := range map[string]string{"p:a": "p:", "a": "", "{app}:a": "{app}:"} {
		if got, used, ok := NameOf(prefix, key); !ok || got != "a" || used {
			t.Errorf("the lock key %q: got %q, %v, %v, want a", key, got, used, ok)
		}
	}
	if got, used, ok := NameOf("{app}:", "holdfast/fence::{app}:a"); !ok || got != "a" || !used {
		t.Errorf("of a tagged key: got %q, %v, %v, want a", got, used, ok)
	}
	if got, _, ok := NameOf("", "holdfast/journal:holdfast:"); ok {
		t.Errorf("the journal: got the name %q", got)
	}
}

// One pattern serves one SCAN. It matches as little else as one pattern can.
func TestListing(t *testing.T) {
	for start, want := range map[string]string{
		"holdfast:": `holdfast[/:]*`, "a:": `[ha][o:]*`, "{app}:": `[h{][oa][lp][dp][f}][a:]*`, "a-*é": `[ha][o\-][l\*]*`, `\`: `*`, "h[^]": `h[o\[][l\^][d\]]*`,
	} {
		if got := Listing(start); got != want {
			t.Errorf("of %q: got %s, want %s", start, got, want)
		}
	}
	for _, test := range []struct {
		start, key string
		want       bool
	}{
		{"holdfast:", "holdfast:a", true}, {"holdfast:", "holdfast/queue:{holdfast:a}", true}, {"holdfast:", "holdfasts", false}, {"holdfast:", "app:1", false},
		{"", "holdfast/wanted:{a}", true}, {"", "holdfast/holders::{a}b", true}, {"", "holdfast/client:x", false}, {"", "holdfast/journal:", false}, {"", "app:1", false},
		{"app:x", "app:x", true}, {"app:x", "holdfast/fence:{app:x1}", true}, {"app:x", "app:y", false}, {"app:x", "user:1", false},
	} {
		if got := matches(Listing(test.start), test.key); got != test.want {
			t.Errorf("%s for %q matches %q: got %v, want %v", Listing(test.start), test.start, test.key, got, test.want)
		}
	}
}

// matches reports whether Redis would match key. It knows what Listing makes: characters,
// classes, and one star at the end.
func matches(pattern, key string) bool {
	for at := 0; at < len(pattern); at++ {
		switch {
		case pattern[at] == '*':
			return at == len(pattern)-1
		case key == "":
			return false
		case pattern[at] == '[':
			found := false
			for at++; pattern[at] != ']'; at++ {
				if pattern[at] == '\\' {
					at++
				}
				found = found || pattern[at] == key[0]
			}
			if !found {
				return false
			}
		default:
			if pattern[at] == '\\' {
				at++
			}
			if pattern[at] != key[0] {
				return false
			}
		}
		key = key[1:]
	}
	return key == ""
}
