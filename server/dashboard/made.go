package dashboard

import (
	"net/http"
	"sync"
	"time"
)

const (
	madeFor  = interval / 2 // as old as a page may be that another is given, too
	mostMade = 64           // pages that are kept
)

// made keeps pages for a moment: each new picture makes all that are open fetch themselves
// at once, and who looks at the same gets the same.
type made struct {
	mu    sync.Mutex // guards pages
	pages map[string]*sheet
}

// sheet is a page as it was sent.
type sheet struct {
	mu     sync.Mutex // held while it is made
	number int64      // of the picture
	at     time.Time
	status int
	body   []byte // nil: it was not made yet
}

// of is the page of an address and a picture, made now if need be.
func (m *made) of(r *http.Request, p *picture, render func() (status int, body []byte)) (status int, body []byte) {
	if r.Method != http.MethodGet {
		return render()
	}
	m.mu.Lock()
	if m.pages == nil || len(m.pages) >= mostMade {
		m.pages = map[string]*sheet{}
	}
	key := r.URL.Path + "?" + r.URL.RawQuery
	s := m.pages[key]
	if s == nil {
		s = &sheet{}
		m.pages[key] = s
	}
	m.mu.Unlock()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body == nil || s.number != p.number || time.Since(s.at) > madeFor {
		s.status, s.body = render()
		s.number, s.at = p.number, time.Now()
	}
	return s.status, s.body
}
