package complete

import "testing"

// What is completed is one word and no flag in every shell: names are whatever somebody
// has put into Redis.
func TestOneWord(t *testing.T) {
	for name, want := range map[string]bool{
		"invoice:42": true, "a_b.c/d@e+f=g%h-i": true, "日本:1": true, "42": true,
		"": false, "two words": false, "-flag": false, "--flag": false, "~root": false, "@splat": false,
		"a;b": false, "$(reboot)": false, "a`b`": false, "a|b": false, "a&b": false, "a>b": false, "a*": false, "a?": false, "a[b]": false,
		"a'b": false, `a"b`: false, `a\b`: false, "a\nb": false, "a\tb": false, "a\x1bb": false, "a\u202eb": false, "{a,b}": false, "#a": false, "!a": false,
	} {
		if got := oneWord(name); got != want {
			t.Errorf("oneWord(%q) = %t, want %t", name, got, want)
		}
	}
}
