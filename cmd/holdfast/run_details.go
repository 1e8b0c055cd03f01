package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/pflag"
)

// detailOptions are the flags that say what others are told of this process.
type detailOptions struct {
	note string
	none bool
}

func (d *detailOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&d.note, "note", "", "a `TEXT` for who looks at NAME: a ticket, a team, a log")
	flags.BoolVar(&d.none, "no-details", false, "do not tell who looks at NAME our host, pid, user, command and note")
}

// of are the details while argv runs; nil: none are told.
func (d *detailOptions) of(argv []string) *holdfast.Details {
	if d.none {
		return nil
	}
	details := holdfast.ProcessDetails()
	details.Command, details.Note = commandLine(argv), d.note
	return details
}

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
}

// commandLine is argv for people, without what looks like a secret.
func commandLine(argv []string) string {
	words := make([]string, 0, len(argv))
	for i, arg := range argv {
		if i > 0 && hidesNext(argv[i-1]) && !strings.HasPrefix(arg, "-") {
			arg = "***"
		}
		for _, secret := range secrets {
			arg = secret.like.ReplaceAllString(arg, secret.shown)
		}
		if strings.HasPrefix(arg, "-p") && len(arg) > 2 && strings.Contains(filepath.Base(argv[0]), "mysql") {
			arg = "-p***"
		}
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

var secretFlag = regexp.MustCompile(`^--?[\w.-]*` + secretWord + `[\w.-]*$`)

// hidesNext tells a flag whose value is the next argument and looks like a secret.
func hidesNext(arg string) bool { return secretFlag.MatchString(arg) || arg == "-p" || arg == "-u" }
