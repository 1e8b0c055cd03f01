package show

import (
	_ "embed"
	"html/template"
	"strings"
)

// drawings are drawn on a field of 16 by 16, in lines: a name, and the inner of an SVG.
//
//go:embed icons.txt
var drawings string

var icons = func() map[string]template.HTML {
	all := map[string]template.HTML{}
	for line := range strings.Lines(drawings) {
		name, drawing, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = template.HTML(`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">` + drawing + `</svg>`) // of ours, from the file above
	}
	return all
}()

// Icon draws one. A word always stands beside it, so screen readers skip it.
func Icon(name string) template.HTML {
	if drawing, ok := icons[name]; ok {
		return drawing
	}
	return icons["unknown"]
}
