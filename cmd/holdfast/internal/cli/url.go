package cli

import (
	"regexp"
	"strings"
)

// Address is a host with a port, which holds no password.
var Address = regexp.MustCompile(`^[A-Za-z0-9.-]+:[0-9]{2,5}$`)

// PublicURL is serverURL as it may be shown: without user, password and query.
// It may be several hosts, which package net/url cannot read.
func PublicURL(serverURL string) string {
	scheme, rest, ok := strings.Cut(serverURL, "://")
	switch {
	case !ok && Address.MatchString(serverURL):
		return serverURL
	case !ok:
		return "the server"
	}
	_, rest = splitUser(rest)
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + "://" + rest
}

// splitUser cuts user:password@ off, which ends at the last @.
func splitUser(rest string) (user, hosts string) {
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		return rest[:at], rest[at+1:]
	}
	return "", rest
}

// echoed is how servers repeat the beginning of a command they do not know. Of
// AUTH, or of HELLO with it, that is the password.
var echoed = regexp.MustCompile(`,? with args beginning with: .*`)

// Redact removes from text what may contain a secret: the URL as it was written, its part
// before the @, passwords in parameters, and arguments that a server repeats. It goes by
// places, not by the password: a short password also occurs inside ordinary words.
func Redact(text, serverURL string) string {
	text = echoed.ReplaceAllString(text, "")
	if serverURL == "" {
		return text
	}
	text = strings.ReplaceAll(text, serverURL, PublicURL(serverURL))
	_, rest, _ := strings.Cut(serverURL, "://")
	user, rest := splitUser(rest)
	if user != "" {
		text = strings.ReplaceAll(text, user+"@", "")
	}
	_, query, _ := strings.Cut(rest, "?")
	for parameter := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(parameter, "="); strings.Contains(name, "password") && value != "" {
			text = strings.ReplaceAll(text, parameter, name+"=xxxxx")
		}
	}
	return text
}

// DefaultURL is the server if no flag and no variable names one.
const DefaultURL = "redis://127.0.0.1:6379"
