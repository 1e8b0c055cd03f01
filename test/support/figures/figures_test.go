package figures_test

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/figures"
)

// A row stands in one line, whatever it consists of.
func TestWriteJSON(t *testing.T) {
	type row struct {
		Name string `json:"name"`
		Each []int  `json:"each"`
	}
	for _, c := range []struct {
		object any
		want   string
	}{
		{struct{}{}, "{}\n"},
		{map[string]any{"n": 1, "none": []row{}, "s": "a, {b}"}, `{
  "n": 1,
  "none": [],
  "s": "a, {b}"
}
`},
		{map[string]any{"rows": []row{{"a", []int{1, 2}}, {"b", nil}}}, `{
  "rows": [
    {"name":"a","each":[1,2]},
    {"name":"b","each":null}
  ]
}
`},
		{map[string]any{"of": map[string]row{"x": {"a", nil}}}, `{
  "of": {
    "x": {"name":"a","each":null}
  }
}
`},
	} {
		var b strings.Builder
		if err := figures.WriteJSON(&b, c.object); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestFigures(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := figures.Thousands(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	for _, c := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := figures.Median(c.of); got != c.want {
			t.Errorf("%v: got %v, want %v", c.of, got, c.want)
		}
	}
}
