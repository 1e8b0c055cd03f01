package dashboard

import "html/template"

// icons are drawn on a field of 16 by 16, in lines.
var icons = map[string]template.HTML{
	"overview": `<path d="M2.5 9.5h4v4h-4zM9.5 2.5h4v11h-4zM2.5 2.5h4v4h-4z"/>`,
	"held":     `<rect x="3" y="7" width="10" height="6.5" rx="1.5"/><path d="M5 7V5a3 3 0 0 1 6 0v2"/>`,
	"free":     `<rect x="3" y="7" width="10" height="6.5" rx="1.5"/><path d="M5 7V4.5a3 3 0 0 1 5.8-1"/>`,
	"cooldown": `<path d="M4 2.5h8M4 13.5h8M5 2.5c0 3 3 3.5 3 5.5S5 10.5 5 13.5M11 2.5c0 3-3 3.5-3 5.5s3 2.5 3 5.5"/>`,
	"process":  `<rect x="2" y="3" width="12" height="8" rx="1.5"/><path d="M5.5 13.5h5M8 11v2.5"/>`,
	"watch":    `<path d="M8 2.2 14.3 13H1.7z"/><path d="M8 6.3v3.2M8 11.2v.3"/>`,
	"trouble":  `<path d="M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5z"/><path d="M8 5v3.7M8 10.8v.3"/>`,
	"note":     `<circle cx="8" cy="8" r="6"/><path d="M8 7.3v3.7M8 5v.3"/>`,
	"ok":       `<circle cx="8" cy="8" r="6"/><path d="m5.3 8.2 2 2 3.5-4"/>`,
	"unknown":  `<circle cx="8" cy="8" r="6"/><path d="M6.2 6.3a1.9 1.9 0 1 1 2.7 1.8c-.6.3-.9.6-.9 1.2M8 11.2v.3"/>`,
	"events":   `<path d="M1.5 8.5h3l2-5.5 3 10 2-4.5h3"/>`,
	"election": `<path d="m2 5 3 3 3-4.5L11 8l3-3-1.3 7.5H3.3z"/>`,
	"jobs":     `<circle cx="8" cy="8" r="6"/><path d="M8 4.5V8l2.5 1.5"/>`,
	"redis":    `<ellipse cx="8" cy="4" rx="5.5" ry="2"/><path d="M2.5 4v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2"/>`,
	"waiting":  `<circle cx="4" cy="5" r="1.8"/><path d="M1.5 13v-1.5a2.5 2.5 0 0 1 5 0V13"/><circle cx="11" cy="5" r="1.8"/><path d="M8.5 13v-1.5a2.5 2.5 0 0 1 5 0V13"/>`,
	"granted":  `<path d="M3 8h9M8.5 4.5 12 8l-3.5 3.5"/>`,
	"released": `<path d="M13 8H4M7.5 4.5 4 8l3.5 3.5"/>`,
	"search":   `<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3.5 3.5"/>`,
	"theme":    `<circle cx="8" cy="8" r="6"/><path d="M8 2v12M8 4.5l4.5 2M8 8l5.8.5M8 11.5l4-.5"/>`,
	"live":     `<circle cx="8" cy="8" r="2.5" fill="currentColor"/><path d="M4 4a5.7 5.7 0 0 0 0 8M12 4a5.7 5.7 0 0 1 0 8"/>`,
	"pause":    `<path d="M5.5 3.5v9M10.5 3.5v9"/>`,
	"stop":     `<rect x="4" y="4" width="8" height="8" rx="1"/>`,
	"logo":     `<path d="M8 5.5v8.5M3 9.5c0 2.8 2.2 4.5 5 4.5s5-1.7 5-4.5M3 9.5l-1 1.8M3 9.5l1.8.8M13 9.5l1 1.8M13 9.5l-1.8.8M5.5 7.5h5"/><circle cx="8" cy="3.5" r="1.9"/>`,
}

// icon draws one. A word always stands beside it, so screen readers skip it.
func icon(name string) template.HTML {
	drawing, ok := icons[name]
	if !ok {
		drawing = icons["unknown"]
	}
	return `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">` + drawing + `</svg>` // of ours, from the table above
}
