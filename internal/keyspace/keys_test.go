package keyspace

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	for lock, beside := range map[string]string{"holdfast:a": "{holdfast:a}", "{app}:a": ":{app}:a"} {
		k := KeysBeside(lock)
		if got, want := *k, (Keys{lock, "holdfast/fence:" + beside, "holdfast/queue:" + beside}); got != want {
			t.Errorf("keys of %s: got %q, want %q", lock, got, want)
		}
		for got, want := range map[string]string{
			k.Revocation():                    "holdfast/revocation:" + beside,
			k.RevocationOf("c.n.5|o"):         "holdfast/revocation/c.n:" + beside,
			k.Written():                       "holdfast/written:" + beside,
			k.Wanted():                        "holdfast/wanted:" + beside,
			k.Size():                          "holdfast/size:" + beside,
			k.WithHolders()[3]:                "holdfast/holders:" + beside,
			k.WithTerm()[1]:                   "holdfast/term:" + beside,
			k.WithOnce()[1]:                   "holdfast/once:" + beside,
			k.ElectionChannel():               "holdfast/push:election:" + beside,
			PushChannel("c", k.ShardSuffix()): "holdfast/push:c:" + beside,
		} {
			if got != want {
				t.Errorf("beside %s: got %q, want %q", lock, got, want)
			}
		}
	}
}

func TestListsOfKeys(t *testing.T) {
	k := KeysBeside("l")
	lists := [][]string{k.WithRevocation(), k.WithHolders(), k.WithSize()}
	for i, last := range []string{k.Revocation(), "holdfast/holders:{l}", k.Size()} {
		if list := lists[i]; list[len(list)-1] != last || list[0] != "l" {
			t.Errorf("list %d is %q, want it to end with %q", i, list, last)
		}
	}
}

func TestNamesThatAreRefused(t *testing.T) {
	long := strings.Repeat("n", maxKey)
	for _, c := range []struct{ prefix, name, want string }{
		{"holdfast:", "invoice:42", ""}, {"", "holdfast", ""}, {"", "{user:1}:inbox", ""}, {"{app}:", "a", ""},
		{"{", "app}:a", ""}, {"", long, ""}, {"", "ü ", ""}, {"a", "b", ""},
		{"holdfast:", "", "is empty"}, {"{app}:", "", "is empty"},
		{"p", long, "is too long"}, {"", "a\xff", "is not valid UTF-8"}, {"", "a\n", "has a control character"},
		{"", "holdfast/a", "reserved"}, {"hold", "fast/a", "reserved"},
		{"", "a{b}", "has a brace"}, {"", "{}a", "has a brace"}, {"", "{a}{b}", "has a brace"}, {"", "{a", "has a brace"},
		{"", "a}", "has a brace"}, {"holdfast:", "{a}", "has a brace"}, {"", "{a}}", "has a brace"},
	} {
		k, err := KeysOf(c.prefix, c.name)
		switch {
		case c.want == "" && (err != nil || k.Lock() != c.prefix+c.name):
			t.Errorf("%q + %q: got %v, %v, want that key", c.prefix, c.name, k, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q + %q: got %v, want one that says %q", c.prefix, c.name, err, c.want)
		}
	}
}

func TestPrefixesThatAreRefused(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": true, "holdfast:": true, "{app}": true, "{app}:": true, "holdfast": true, strings.Repeat("p", maxKey-1): true,
		"holdfast/": false, "a{b}": false, "{": false, "a\x00": false, strings.Repeat("p", maxKey): false,
	} {
		if err := CheckPrefix(prefix); (err == nil) != ok {
			t.Errorf("prefix %q: got %v, want it accepted: %v", prefix, err, ok)
		}
	}
}

// No name may split a lock over slots, and no two names may share a key.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"invoice:42", "{user:1}:inbox", "a{b}c", "{}", "{a}{b}", "holdfast/x", "x\x00", "", ":{a}", "{a}"} {
		f.Add("holdfast:", name, "other")
		f.Add("", name, "{"+name+"}")
	}
	f.Fuzz(func(t *testing.T, prefix, a, b string) {
		if CheckPrefix(prefix) != nil {
			return
		}
		ka, err := KeysOf(prefix, a)
		if err != nil {
			return
		}
		want := Slot(ka.Lock())
		for _, key := range append(everyKey(ka), ka.ElectionChannel(), PushChannel("client", ka.ShardSuffix())) {
			if got := Slot(key); got != want {
				t.Fatalf("%q is in slot %d, its lock %q in %d", key, got, ka.Lock(), want)
			}
		}
		for _, key := range []string{ka.Lock(), ka.Fence(), ka.Queue(), ka.Holders(), ka.Wanted()} {
			if name, used, ok := NameOf(prefix, key); !ok || name != a || used != (key != ka.Lock()) {
				t.Fatalf("the key %q of %q reads as %q, %v, %v", key, a, name, used, ok)
			}
			for _, start := range []string{"", prefix, prefix + a} {
				if pattern := Listing(start); !matches(pattern, key) && (start != "" || key != ka.Lock()) {
					t.Fatalf("the key %q of %q does not match %s, which is for %q", key, a, pattern, start)
				}
			}
		}
		kb, err := KeysOf(prefix, b)
		if err != nil || a == b {
			return
		}
		used := map[string]bool{}
		for _, key := range everyKey(ka) {
			used[key] = true
		}
		for _, key := range everyKey(kb) {
			if used[key] {
				t.Fatalf("%q and %q share the key %q", a, b, key)
			}
		}
	})
}

// everyKey is every key that a name may have.
func everyKey(k *Keys) []string {
	return append(k.WithSize(), k.Revocation(), k.RevocationOf("c.n.1|o"), k.Written(), k.Wanted(), k.WithTerm()[1], k.WithOnce()[1])
}
