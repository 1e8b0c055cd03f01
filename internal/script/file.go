package script

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
)

// File is a script and the file that it is made from.
type File struct {
	*driver.Script
	Path string // the family and the operation, as in "mutex/lock"
}

// All lists every script, in the order of their paths.
func All() []File { return slices.Clone(all) }

// newFile reads the script of a path. Scripts of the family mutex are named by the
// operation alone: other families use them, too.
func newFile(path string) File {
	name := strings.ReplaceAll(strings.TrimPrefix(path, "mutex/"), "/", "_")
	return File{Script: driver.NewScript(name, expand(path)), Path: path}
}
