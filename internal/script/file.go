package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
)

// File is a script with what the first lines of its file say about it.
type File struct {
	*driver.Script
	Path    string // the family and the operation, as in "mutex/lock"
	Does    string // what it does
	Keys    string // its KEYS
	Args    string // its ARGV
	Answers string
}

// All lists every script, in the order of their paths.
func All() []File { return slices.Clone(all) }

// Find returns the scripts with a name, a path, or a SHA that begins so.
func Find(what string) []File {
	var found []File
	for _, f := range all {
		if f.Name == what || f.Path == what {
			return []File{f}
		}
		if len(what) >= shortestSHA && strings.HasPrefix(f.SHA, strings.ToLower(what)) {
			found = append(found, f)
		}
	}
	return found
}

// shortestSHA is how many digits of a SHA name a script.
const shortestSHA = 4

// newFile reads the script of a path. Scripts of the family mutex are named by the
// operation alone: other families use them, too.
func newFile(path string) File {
	name := strings.ReplaceAll(strings.TrimPrefix(path, "mutex/"), "/", "_")
	f := File{Script: driver.NewScript(name, expand(path)), Path: path}
	text := &f.Does
	for line := range strings.Lines(f.Source) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if !ok {
			break
		}
		for word, next := range map[string]*string{name + ": ": &f.Does, "KEYS ": &f.Keys, "ARGV ": &f.Args, "answers ": &f.Answers} {
			if rest, ok := strings.CutPrefix(line, word); ok {
				line, text = rest, next
			}
		}
		*text = strings.TrimSpace(*text + " " + strings.TrimSpace(line))
	}
	return f
}

// Whole is the script as a file to read: its name and SHA, and then its source, which
// begins with what it takes and answers.
func (f File) Whole() string {
	return fmt.Sprintf("-- %s, SHA %s, of the text behind the empty line\n\n%s", f.Name, f.SHA, f.Source)
}
