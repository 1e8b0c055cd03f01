package browser_test

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// violation is what axe-core found.
type violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	} `json:"nodes"`
}

// No page has a serious fault that axe-core can find, light and wide or dark and narrow:
// contrast, names of controls, structure. (Colours do not depend on the width, nor structure
// on colours.)
func TestAxe(t *testing.T) {
	source, err := os.ReadFile("testdata/axe-core-4.14.1/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	s := staged(t, &dashboard.Options{Authorize: dashboard.AllowAll}, true)
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	p := open(t, s, "/locks", wide)
	p.until("the shop", has("sale:sneakers-42")+" && "+has("legacy:ftp-import"))
	for _, path := range []string{"/", "/locks", "/lock?name=sale:sneakers-42", "/lock?name=nobody", "/lock", "/processes", "/problems", "/events", "/elections", "/jobs", "/redis", "/nothing"} {
		p.to(path)
		p.until(path, "document.getElementById('live')?.checkVisibility()")
		ask[bool](p, string(source)+"; true")
		ask[bool](p, still)
		for _, look := range []Look{wide, {Width: 390, Height: 844, Dark: true}} {
			if err := look.As(p.ctx); err != nil {
				t.Fatal(err)
			}
			found, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]violation]("axe.run({ resultTypes: ['violations'], preload: false }).then((r) => r.violations)", chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range found {
				if v.Impact == "serious" || v.Impact == "critical" {
					t.Errorf("%s %+v: %s (%s): %s\n%+v", path, look, v.ID, v.Impact, v.Help, v.Nodes)
				}
			}
			if wider := ask[int](p, "document.scrollingElement.scrollWidth - innerWidth"); wider > 0 {
				t.Errorf("%s %+v: the page is %d pixels wider than the window", path, look, wider)
			}
		}
	}
}

// still pauses a page, opens what can be opened, and leaves of long tables some rows: more of
// the same would find nothing more.
const still = `document.getElementById('live').click();
for (const d of document.querySelectorAll('details')) d.open = true;
for (const r of document.querySelectorAll('tbody > tr:nth-child(n+11), tbody:nth-of-type(n+6)')) r.remove();
true`
