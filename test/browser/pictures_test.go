package browser_test

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

var pictures = flag.Bool("pictures", false, "TestPictures makes docs/screenshots again; two minutes")

// TestPictures makes the pictures of the dashboard, of a small shop at work whose locks
// are real.
func TestPictures(t *testing.T) {
	if !*pictures {
		t.Skip("without -pictures")
	}
	s := staged(t, &dashboard.Options{Authorize: dashboard.AllowAll}, true)
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	p := open(t, s, "/", wide)
	time.Sleep(90 * time.Second) // a page that is open keeps the dashboard looking
	for name, path := range map[string]string{"overview": "/", "lock": "/lock?name=sale:sneakers-42"} {
		p.to(path)
		time.Sleep(1500 * time.Millisecond)
		p.until("a new "+name, "document.querySelector('footer time').textContent === 'just now'")
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		image, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("../../docs/screenshots/"+name+".png", image, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
