package mutation

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRowsFindTheirPlace changes code as people do, and wants each row to find its place or to say why not.
func TestRowsFindTheirPlace(t *testing.T) {
	const code = `package p

func (t *T) step(now int) int {
	left := t.until - now // what is left
	if left < 0 && t.held {
		t.end(now)
		return 0
	}
	return left
}

func (t *T) end(now int) { t.held, t.until = false, now }

const most = 7
`
	step := mutation{in: "p T.step", edits: []string{"left < 0 && t.held", "left < 0"}}
	for _, c := range []struct {
		name      string
		row       mutation
		old, new  string   // what somebody changed in the code: a regular expression, and what it became
		moved     bool     // step stands in another file
		want      []string // what the code has then
		wantError string
	}{
		{name: "as it is", row: step, want: []string{"if left < 0 {\n\t\tt.end(now)"}},
		{name: "a local is renamed", row: step, old: "left", new: "rest", want: []string{"if rest < 0 {"}},
		{name: "the receiver is renamed", row: step, old: `\bt\b`, new: "x", want: []string{"if left < 0 {"}},
		{name: "the function is moved", row: step, moved: true, want: []string{"if left < 0 {"}},
		{name: "formatted", row: step, old: "left < 0 && t.held", new: "left < 0 && // soon\n\t\tt.held", want: []string{"if left < 0 {"}},
		{name: "a field is renamed", row: step, old: "held", new: "holds", wantError: "0 times"},
		{name: "the function is renamed", row: step, old: `\) step\(`, new: ") advance(", wantError: "no such declaration"},
		{name: "there are two", row: step, old: "return left", new: "if left < 0 && t.held {\n\t}\n\treturn left", wantError: "2 times"},
		{name: "the names tell which", row: step, old: "return left", new: "if now < 0 && t.held {\n\t}\n\treturn left", want: []string{"if left < 0 {"}},
		{name: "statements", row: mutation{in: "p T.step", edits: []string{"t.end(now); return 0", "return now"}}, old: `\bnow\b`, new: "at", want: []string{"held {\n\t\treturn at\n\t}"}},
		{name: "a name from elsewhere", row: mutation{in: "p T.step", where: "t.until - now", edits: []string{"return 0", "return now"}}, old: `\bnow\b`, new: "at", want: []string{"return at"}},
		{name: "two functions", row: mutation{in: "p T.step, T.end", edits: []string{"return 0", "return 1", "false, now", "true, now"}}, moved: true, want: []string{"return 1", "= true, now"}},
		{name: "a constant", row: mutation{in: "p most", edits: []string{"most = 7", "most = 70"}}, want: []string{"const most = 70"}},
		{name: "an import", row: mutation{in: "p T.step", edits: []string{"return 0", "return os.Getpid()"}, imports: []string{"os"}}, want: []string{`package p; import "os"`, "return os.Getpid()"}},
		{name: "nothing to find", row: mutation{in: "p T.step", edits: []string{" // ", "x"}}, wantError: "empty"},
		{name: "Lua", row: mutation{in: "p/s.lua", edits: []string{"if left < 0 and redis.call('GET', key) then", "if left < 0 then"}}, old: "left", new: "rest", want: []string{"if rest < 0 then return end"}},
		{name: "an include", row: mutation{in: "p/s.lua", edits: []string{"-- include part/x.lua", "local x"}}, want: []string{"local x\nif left"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			files := map[string]string{"a.go": code, "s.lua": "local left, key = 1, KEYS[1]\n-- include part/x.lua\nif left < 0 -- soon\n  and redis.call('GET', key) then return end\n"}
			if c.old != "" {
				for name, text := range files {
					files[name] = regexp.MustCompile(c.old).ReplaceAllString(text, c.new)
				}
			}
			if c.moved {
				first, end, _ := strings.Cut(files["a.go"], "func (t *T) end")
				files["a.go"], files["b.go"] = first, "package p\n\nfunc (t *T) end"+end
			}
			if err := os.Mkdir(filepath.Join(root, "p"), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(root, "p", name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			changed, err := c.row.change(root)
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) {
					t.Errorf("got %v, %v; want an error with %q", changed, err, c.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(slices.Collect(maps.Values(changed)), "\n")
			for _, want := range c.want {
				if strings.Count(got, want) != 1 {
					t.Errorf("got\n%s\nwant it to have %q", got, want)
				}
			}
		})
	}
}
