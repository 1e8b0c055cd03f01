package browser_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// The tile says how many leases were lost, its link shows them, and an export is neither. A day
// and a week are drawn like the minutes.
func TestLossesAndHours(t *testing.T) {
	s := staged(t, &dashboard.Options{}, true)
	client, writer := s.processOn(s.Store, "ci:7", "alice", "deploy", holdfast.DefaultTTL)
	if _, err := lock(t, client, "exported:1").Export(); err != nil {
		t.Fatal(err)
	}
	for hour := range 30 {
		at := time.Now().Add(-time.Duration(hour) * time.Hour)
		writer.Note(journal.Entry{Event: journal.Granted, At: at, Name: "n", Kind: holdfast.KindMutex, Token: int64(hour), Waited: time.Second})
		writer.Note(journal.Entry{Event: journal.Lost, At: at, Name: "n", Kind: holdfast.KindMutex, Token: int64(hour), Cause: holdfast.Gone})
	}
	p := open(t, s, "/", wide)
	const tile = `.tile[href="/events?what=lost&since=10m"]`
	p.until("one lease was lost", "document.querySelector('"+tile+" .tile-value')?.innerText === '1'")
	p.do("open its list", chromedp.Click(tile))
	p.until("the list has one row", "location.pathname === '/events' && document.querySelectorAll('tr[data-key]').length === 1 && "+has("gone"))
	p.to("/events?what=exported")
	p.until("the export is not red", has("exported:1")+" && !document.querySelector('.chip.bad')")
	for _, span := range []string{"day", "week"} {
		p.to("/")
		p.do("choose a "+span, chromedp.Click(`.spans a[href="/?span=`+span+`"]`))
		p.until("three charts are drawn", "location.search === '?span="+span+"' && document.querySelectorAll('.chart canvas').length === 3")
		p.until("it says where they begin", has("They began ")+" && "+has("Lost per hour"))
	}
}
