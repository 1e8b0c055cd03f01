package sim

import (
	_ "embed"
	"strings"
)

// canonicalNames has a line for each name that a rename may change: its sort, its name
// now, and the canonical one, which is the name that it had when this file
// began.
//
//go:embed testdata/names.txt
var canonicalNames string

var canonicalScripts, canonicalPushes, canonicalTexts = readNames(canonicalNames)

func readNames(table string) (scripts, pushes map[string]string, texts *strings.Replacer) {
	scripts, pushes = map[string]string{}, map[string]string{}
	var pairs []string
	for row := range strings.Lines(table) {
		field := strings.Fields(row)
		if len(field) == 0 || strings.HasPrefix(row, "#") {
			continue
		}
		if len(field) != 3 {
			panic("testdata/names.txt: not three words: " + row)
		}
		switch field[0] {
		case "script":
			scripts[field[1]] = field[2]
		case "push":
			pushes[field[1]] = field[2]
		case "text":
			pairs = append(pairs, field[1], field[2])
		default:
			panic("testdata/names.txt: neither script, push nor text: " + row)
		}
	}
	return scripts, pushes, strings.NewReplacer(pairs...)
}

// CanonicalScript is the canonical name of a script, by which also the network decides
// what becomes of a call.
func CanonicalScript(name string) string { return canonical(canonicalScripts, name) }

// CanonicalPush is the canonical name of a push.
func CanonicalPush(kind string) string { return canonical(canonicalPushes, kind) }

func canonical(names map[string]string, name string) string {
	if first, ok := names[name]; ok {
		return first
	}
	return name
}

// Unknown are the scripts and pushes that names.txt does not have.
func (l *Log) Unknown() (unknown []string) {
	known := map[string]bool{}
	for _, sort := range []struct {
		prefix string
		names  map[string]string
	}{{"script ", canonicalScripts}, {"push ", canonicalPushes}} {
		for _, first := range sort.names {
			known[sort.prefix+first] = true
		}
	}
	for _, text := range l.Lines() {
		field := strings.Fields(text)
		name := map[string]string{"sent": "script ", "ran": "script ", "push": "push "}[field[1]] + field[3]
		if field[1] != "end" && !known[name] {
			known[name] = true
			unknown = append(unknown, name)
		}
	}
	return unknown
}
