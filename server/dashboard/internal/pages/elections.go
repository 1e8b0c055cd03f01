package pages

import "github.com/holdfast-go/holdfast/server/dashboard/internal/seen"

// electionsPage lists the leaders.
type electionsPage struct {
	*visit
	Elections []*seen.Lock
}

func elections(v *visit) any {
	page := &electionsPage{visit: v}
	for _, l := range v.Picture.Locks {
		if l.Term > 0 && l.Matches(v.Filter()) && len(page.Elections) < 5*pageSize {
			page.Elections = append(page.Elections, l)
		}
	}
	return page
}
