package script

import (
	"regexp"
	"strconv"
	"strings"
)

// place is where in a script a server saw an error: "… script: <SHA>, on
// @user_script:<line>", before Redis 7 "… (call to f_<SHA>): @user_script:<line>: …".
var place = regexp.MustCompile(`([0-9a-f]{40})\D.*?@user_script: ?(\d+)`)

var called = regexp.MustCompile(`redis\.p?call\('(\w+)'`)

// Blamed names the commands, in lower case, that the line of our own script calls
// which a server's error is about. It is empty for an error that names no line of
// ours.
func Blamed(said string) []string {
	found := place.FindStringSubmatch(said)
	if found == nil {
		return nil
	}
	n, _ := strconv.Atoi(found[2])
	for _, s := range all {
		if s.SHA != found[1] {
			continue
		}
		var commands []string
		for i, text := range strings.Split(s.Source, "\n") {
			if i+1 != n {
				continue
			}
			for _, call := range called.FindAllStringSubmatch(text, -1) {
				commands = append(commands, strings.ToLower(call[1]))
			}
		}
		return commands
	}
	return nil
}
