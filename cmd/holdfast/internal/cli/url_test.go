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

// The command under a lock gets no password, wherever it stands in the variable.
func TestWithoutPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"redis://host:1/2":                                         "redis://host:1/2",
		"rediss://:hunter2@host?ca=/c&db=1":                        "rediss://host?ca=/c&db=1",
		"redis://app:hunter2@host":                                 "redis://app@host",
		"redis://app:a@hunter2@host":                               "redis://app@host",
		"cluster://app:hunter2@a:1,b:2":                            "cluster://app@a:1,b:2",
		"unix://app:hunter2@/run/r.sock":                           "unix://app@/run/r.sock",
		"sentinel://h/m?sentinel_user=s&sentinel_password=hunter2": "sentinel://h/m?sentinel_user=s",
		"sentinel://u:hunter2@h/m/1?sentinel%5Fpassword=hunter2":   "sentinel://u@h/m/1",
		"sentinel://h/m?sentinel_password=hunter2@x":               "sentinel://x", // no driver takes it
		"redis://:hunter2/@host":                                   "redis://host",
		"bob:hunter2@host":                                         "the server",
		"host:6379":                                                "host:6379",
		"":                                                         "",
	} {
		for _, name := range []string{"HOLDFAST_REDIS_URL", "Holdfast_Redis_Url"} {
			got := WithoutPasswords([]string{"A=b", name + "=" + text, "REDIS_URL=" + text})
			if got[0] != "A=b" || got[1] != name+"="+want || got[2] != "REDIS_URL="+text {
				t.Errorf("%s: got %q, want %s", text, got, want)
			}
		}
	}
}
