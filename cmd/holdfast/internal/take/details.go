package take

import (
	"path/filepath"
	"regexp"
	"strings"
)

const secretWord = `(?i:pass|pwd|secret|token|key|auth|credential|cookie|session|signature)`

// secrets are what looks like one in a command line, and what is shown in its place.
var secrets = []struct {
	like  *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s'"@]*(?:@[^/\s'"@]*)*@`), "${1}***@"},                             // in a URL
	{regexp.MustCompile(`((?i:authorization|cookie)\s*[:=]\s*)[^'"]+`), "${1}***"},                                          // a header
	{regexp.MustCompile(`([\w.-]*` + secretWord + `[\w.-]*\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s&"']+)`), "${1}***"},            // --password=x, API_KEY=x, ?token=x
	{regexp.MustCompile(`((?:^|\s)--?[\w.-]*` + secretWord + `[\w.-]*\s+)(?:"[^"]*"|'[^']*'|[^\s"'-][^\s"']*)`), "${1}***"}, // --password x
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w.-]+`), "***"},                                                                     // a signed token
	{regexp.MustCompile(`\b(?:gh[opsur]_|github_pat_|glpat-|xox[a-z]-|sk-|AKIA|ASIA|hvs\.|npm_)[\w.-]{12,}`), "***"},        // one that says whose it is
	{regexp.MustCompile(`((?:^|[\s='"])[\w.%+-]+:)[^\s/'"@]+@`), "${1}***@"},                                                // bob:x@db, without a scheme
	{regexp.MustCompile(`(\b(?:mysql|mariadb|sshpass)[\w-]*\s(?:[^|;&]*?\s)?-p)[^\s'"]+`), "${1}***"},                       // those of flagged, for a shell
	{regexp.MustCompile(`(\b(?:redis|valkey|keydb)-\w+\s(?:[^|;&]*?\s)?-a\s+)(?:"[^"]*"|'[^']*'|[^\s'"]+)`), "${1}***"},
	{regexp.MustCompile(`(\bcurl\s(?:[^|;&]*?\s)?-u\s*)(?:"[^"]*"|'[^']*'|[^\s'"]+)`), "${1}***"},
}

// flagged are programs whose flag for a secret does not say so: with it in one word, or
// in the next.
var flagged = []struct {
	program        *regexp.Regexp
	attached, next string
}{
	{regexp.MustCompile(`^(?:mysql|mariadb|sshpass)[\w-]*$`), "-p", ""},
	{regexp.MustCompile(`^curl$`), "-u", ""},
	{regexp.MustCompile(`^(?:redis|valkey|keydb)-\w+$`), "", "-a"},
}

// commandLine is argv for people, without what looks like a secret.
func commandLine(argv []string) string {
	words := make([]string, 0, len(argv))
	attached, next := "", "" // of the program that was named last, as after sudo
	for i, arg := range argv {
		if i > 0 && (hidesNext(argv[i-1]) || next != "" && argv[i-1] == next) && !strings.HasPrefix(arg, "-") {
			arg = "***"
		}
		for _, secret := range secrets {
			arg = secret.like.ReplaceAllString(arg, secret.shown)
		}
		if attached != "" && strings.HasPrefix(arg, attached) && len(arg) > 2 {
			arg = attached + "***"
		}
		for _, f := range flagged {
			if f.program.MatchString(filepath.Base(arg)) {
				attached, next = f.attached, f.next
			}
		}
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

var secretFlag = regexp.MustCompile(`^--?[\w.-]*` + secretWord + `[\w.-]*$`)

// hidesNext reports whether arg is a flag and the next argument is its secret value.
func hidesNext(arg string) bool { return secretFlag.MatchString(arg) || arg == "-p" || arg == "-u" }
