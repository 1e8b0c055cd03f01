package pages

import (
	"maps"
	"net/url"
	"strconv"
)

// pageSize bounds what a browser has to carry: 5,000 locks are fifty pages.
const pageSize = 100

// parts has the links to the other parts of a long table.
type parts struct {
	From, To, Total int
	Before, After   string // empty: none
}

// paged returns the part of all that a visit asks for, and the links to the others.
func paged[T any](v *visit, all []T) (*parts, []T) {
	n, _ := strconv.Atoi(v.query.Get("page"))
	n = max(1, min(n, (len(all)+pageSize-1)/pageSize))
	from := (n - 1) * pageSize
	to := min(len(all), from+pageSize)
	if len(all) <= pageSize {
		return nil, all
	}
	p := &parts{From: from + 1, To: to, Total: len(all)}
	if n > 1 {
		p.Before = v.Base + v.Path + with(v.query, "page", strconv.Itoa(n-1))
	}
	if to < len(all) {
		p.After = v.Base + v.Path + with(v.query, "page", strconv.Itoa(n+1))
	}
	return p, all[from:to]
}

// with is a query with some values set; empty takes one off.
func with(q url.Values, pairs ...string) string {
	v := url.Values{}
	maps.Copy(v, q)
	for i := 0; i < len(pairs); i += 2 {
		if v.Del(pairs[i]); pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return "?" + v.Encode()
}

// choice is one of a few.
type choice struct {
	Value, Text string
	Current     bool
}

// chip is a short word with an icon.
type chip struct{ Text, Icon, Class string }
