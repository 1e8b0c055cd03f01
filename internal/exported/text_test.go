package exported

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

func FuzzTexts(f *testing.F) {
	f.Add("holdfast:", "invoice:42", "c.n.15000|host:1", "holdfast1-AAAA", false, "")
	f.Add("holdfast:", "scheduler", "c.n.15000|host:1", "holdfast1-AAAA", true, "10.0.0.3:8080")
	f.Fuzz(func(t *testing.T, prefix, name, id, text string, leads bool, value string) {
		_, _ = Parse(text)
		badValue := len(value) > keyspace.MaxOwner || keyspace.CleanOwner(value) != value
		if _, ok := keyspace.ParseID(id); !ok || strings.Contains(prefix+name+id, "\x00") || badValue || !leads && value != "" {
			return
		}
		h := Hold{prefix, name, id, int64(len(text)), int64(len(name)), leads, value}
		if got, err := Parse(h.Text()); err != nil || got != h {
			t.Fatalf("%+v reads as %+v, %v", h, got, err)
		}
	})
}

// A text that was cut or changed is refused.
func TestParseRefuses(t *testing.T) {
	text := Hold{Prefix: "holdfast:", Name: "n", ID: "c.n.15000|host:1", Token: 7, Last: 9}.Text()
	if _, err := Parse(" " + text + "\n"); err != nil {
		t.Errorf("with spaces around it: got %v, want a hold", err)
	}
	changed := []byte(text)
	changed[len(formWord)+3]++
	for _, damaged := range []string{"", formWord, text[:len(text)-1], text[1:], string(changed), text + text} {
		if got, err := Parse(damaged); !errors.Is(err, ErrText) {
			t.Errorf("%q: got %+v, %v, want ErrText", damaged, got, err)
		}
	}
}
