package layout

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// Modules can be fetched by users, who get neither replace lines nor the modules of test/.
func TestModulesArePublishable(t *testing.T) {
	work := read(t, "go.work")
	for _, name := range files(t, "go.mod") {
		dir, text := path.Dir(name), regexp.MustCompile(`//.*`).ReplaceAllString(read(t, name), "")
		if use := "\n\t./" + dir + "\n"; dir != "." && !strings.Contains(work, use) {
			t.Errorf("go.work does not use ./%s: go test work leaves it out", dir)
		}
		if strings.HasPrefix(dir, "test") {
			continue // never tagged
		}
		if strings.Contains(text, "=>") {
			t.Errorf("%s has a replace line, which a user's build ignores: it belongs into go.work", name)
		}
		if strings.Contains(text, "github.com/holdfast-go/holdfast/test") {
			t.Errorf("%s requires test/, which is never tagged, so nobody could fetch the module: move what needs it to test/", name)
		}
		if dir == "." && strings.Contains(text, "require") {
			t.Error("go.mod of the root requires something: a lock needs the standard library alone; what talks to Redis is a driver, a module of its own")
		}
	}
}
