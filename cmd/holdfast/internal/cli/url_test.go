//go:build unix

package cli

import "testing"

// Secrets are looked for where they stand, and not within words.
func TestRedact(t *testing.T) {
	for _, test := range []struct{ text, url, want string }{
		{"dial tcp: a refusal", "redis://:a@host", "dial tcp: a refusal"},
		{"bad redis://u:pw@host/1!", "redis://u:pw@host/1", "bad redis://host/1!"},
		{"tried u:pw@host", "redis://u:pw@host", "tried host"},
		{"ERR unknown command `AUTH`, with args beginning with: `pw`, ", "redis://:pw@host", "ERR unknown command `AUTH`"},
		{"got sentinel_password=pw there", "sentinel://host/m?sentinel_password=pw", "got sentinel_password=xxxxx there"},
		{"master pw is down", "sentinel://host/m?sentinel_password=pw", "master pw is down"},
	} {
		if got := Redact(test.text, test.url); got != test.want {
			t.Errorf("redact(%q, %q) = %q, want %q", test.text, test.url, got, test.want)
		}
	}
}
