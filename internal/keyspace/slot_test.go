package keyspace

import "testing"

// The first four are examples of the Redis documentation.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"123456789": 0x31c3, "somekey": 11058, "foo{hash_tag}": 2515, "bar{hash_tag}": 2515,
		"": 0, "a{123456789}b{c}": 0x31c3,
	} {
		if got := Slot(key); got != want {
			t.Errorf("slot of %q: got %d, want %d", key, got, want)
		}
	}
}

func TestTag(t *testing.T) {
	for key, want := range map[string]string{
		"": "", "a": "a", "{a}b": "a", "b{a}": "a", "{}a": "{}a", "{a": "{a", "a}": "a}", "a{}{b}": "a{}{b}",
		"{{a}}": "{a", "x{y}z{w}": "y", "}{a}": "a",
	} {
		if got := Tag(key); got != want {
			t.Errorf("tag of %q: got %q, want %q", key, got, want)
		}
	}
}
