//go:build unix

package versions_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// laterEdits make version 2 of this version, as ADR 43 wants a later one to be. Each old text becomes
// the new one beside it, everywhere in the files.
var laterEdits = []struct {
	files string
	edits []string
}{
	{"internal/keyspace/id.go", []string{
		"const Version = 1", "const Version = 2",
		"\treturn int(version)\n", "\tif version == Version {\n\t\treturn 0\n\t}\n\treturn int(version)\n",
		"id := append(room[:0], prefix...)", `id := append(append(room[:0], "v2|"...), prefix...)`,
		`head, owner, ok := strings.Cut(value, "|")`, "value, ok = strings.CutPrefix(value, \"v2|\")\n\tif !ok {\n\t\treturn ID{}, false\n\t}\n\thead, owner, ok := strings.Cut(value, \"|\")",
	}},
	{"internal/script/*/*.lua", []string{
		"'^([%w_-]+)%.", "'^v2|([%w_-]+)%.", // an id of this version
		"'^([^.]+)%.", "'^v2|([^.]+)%.",
		"'^[^.|]+%.", "'^v2|[^.|]+%.",
		"local mark = redis.call('GETRANGE', fence, '0', '{{text_end}}')", "local mark = string.gsub(redis.call('GETRANGE', fence, '0', '{{text_end}}'), '^v2|', '')",
		"redis.call('SET', fence, ", "redis.call('SET', fence, 'v2|' .. ",
		"'^v(%d+)|'", "'^v([013-9]%d*)|'", // a mark of another version
		"'^v%d+|'", "'^v[013-9]%d*|'",
	}},
	// Version 2 knows version 1, and does not wait behind it: version 1 could not hand over to it.
	{"internal/script/mutex/lock.lua", []string{
		"local token_now, newest_token,", `local newest = holder or waiting > 0 and redis.call('ZRANGE', queue, '-1', '-1')[1]
if newest and not string.find(newest, '^v2|') then return redis.error_reply('HOLDFAST version 1 of the protocol uses ' .. lock) end
local token_now, newest_token,`,
	}},
}

// laterVersion writes the edited files, and returns the list of them that go build -overlay takes.
func laterVersion(t *testing.T) (overlay string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, texts := t.TempDir(), map[string]string{}
	for _, e := range laterEdits {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(e.files)))
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for _, file := range files {
			if texts[file] == "" {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				texts[file] = string(text)
			}
			for i := 0; i < len(e.edits); i += 2 {
				used[e.edits[i]] = used[e.edits[i]] || strings.Contains(texts[file], e.edits[i])
				texts[file] = strings.ReplaceAll(texts[file], e.edits[i], e.edits[i+1])
			}
		}
		for i := 0; i < len(e.edits); i += 2 {
			if !used[e.edits[i]] {
				t.Fatalf("%s has no text %q: bring the edits up to date", e.files, e.edits[i])
			}
		}
	}
	replace := map[string]string{}
	for file, text := range texts {
		edited := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(file, root), string(filepath.Separator), "_"))
		if err := os.WriteFile(edited, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[file] = edited
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}
