package keyspace

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{" host:1 ", 64, "host:1"}, {"a\tb\x1b[31m", 64, "a_b_[31m"}, {"a\xff\u202e", 64, "a__"}, {"", 3, ""},
		{"abcd", 3, "abc"}, {"aüü", 4, "aü"}, {"aüü", 2, "a"}, {"a|b", 64, "a|b"},
	} {
		if got := Clean(c.text, c.most); got != c.want {
			t.Errorf("Clean(%q, %d): got %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestCleanOwner(t *testing.T) {
	if got, want := CleanOwner("a|b"+strings.Repeat("c", MaxOwner)), "a_b"+strings.Repeat("c", MaxOwner-3); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
