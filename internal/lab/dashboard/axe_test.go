package dashboard_test

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	lab "github.com/holdfast-go/holdfast/internal/lab/dashboard"
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

// No page has a serious fault that axe-core can find, light or dark, wide or narrow:
// contrast, names of controls, structure.
func TestAxe(t *testing.T) {
	source, err := os.ReadFile("testdata/axe-core-4.14.1/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	s := staged(t, &dashboard.Options{Authorize: dashboard.Anyone}, true)
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	p := open(t, s, "/locks", wide)
	p.until("the shop", has("sale:sneakers-42")+" && "+has("legacy:ftp-import"))
	for _, look := range []lab.Look{{Width: 1280, Height: 800}, {Width: 1280, Height: 800, Dark: true}, {Width: 390, Height: 844}} {
		if err := look.As(p.ctx); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/locks", "/lock?name=sale:sneakers-42", "/lock?name=nobody", "/processes", "/problems", "/events", "/elections", "/jobs", "/redis", "/nothing"} {
			p.to(path)
			p.until(path, "document.querySelector('h1')")
			ask[bool](p, string(source)+"; true")
			ask[bool](p, "for (const d of document.querySelectorAll('details')) d.open = true; true")
			found, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]violation]("axe.run().then((r) => r.violations)", chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range found {
				if v.Impact == "serious" || v.Impact == "critical" {
					t.Errorf("%s %+v: %s (%s): %s\n%+v", path, look, v.ID, v.Impact, v.Help, v.Nodes)
				}
			}
		}
	}
}
