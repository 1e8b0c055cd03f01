package browser_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/holdfast-go/holdfast"
)

var shots = flag.String("shots", "", "a directory for pictures of the tables that TestTables looks at")

// broken are the texts of tables that nobody could read: without room, over others, or broken
// inside a number or, on a wide screen, anywhere.
const broken = `(() => {
  const found = [], wide = innerWidth > 832, rows = (r) => new Set([...r.getClientRects()].map((b) => Math.round(b.top))).size;
  for (const cell of document.querySelectorAll('.rows:not(.checks) tbody td, .rows:not(.checks) tbody th')) {
    if (cell.scrollWidth > cell.clientWidth + 1) found.push('runs over its cell: ' + cell.innerText);
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text; (text = texts.nextNode());) {
      const range = document.createRange();
      range.selectNodeContents(text);
      const cut = text.parentElement.closest('.cut');
      if (text.data.trim() && (cut ? cut.clientWidth < Math.min(20, cut.scrollWidth) : !range.getBoundingClientRect().width)) found.push('not to be seen: ' + text.data);
      if (wide && rows(range) > 1) found.push('more than a line: ' + text.data);
      for (const number of text.data.matchAll(/\d+/g)) {
        range.setStart(text, number.index);
        range.setEnd(text, number.index + number[0].length);
        if (rows(range) > 1) found.push('a broken number: ' + text.data);
      }
    }
  }
  return found;
})()`

// Tables break no text inside a number. On a wide screen each text is one line; what the line
// cuts off is shown to the pointer and to the focus of the keyboard.
func TestTables(t *testing.T) {
	_, url, client := onRedis(t, &holdfast.Options{TTL: holdfast.DefaultTTL, Details: &holdfast.Details{Host: "batch-7f9c6d5b8-x2x9q", PID: 15690, User: "batch", Command: "/usr/local/bin/rebalance --shelf 15690 --every 300"}})
	const long, owner = "warehouse:eu-central-1:rebalance:shelf-0000015690:aisle-0042", "batch-7f9c6d5b8-x2x9q.prod.eu-central-1.internal:15690"
	p := openAt(t, url, "/locks", wide)
	p.until("an empty dashboard", has("holdfast run nightly")) // what it sees from now on is an event
	lock(t, client("vm:15690"), "nightly")
	lock(t, client(owner), long)
	for i := range 3 {
		waiting := client(fmt.Sprintf("stock-7f9c6d5b8-x2x9%d.prod.eu-central-1.internal:1569%d", i, i))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if lease, err := waiting.Mutex(long).Lock(ctx); err == nil {
				_ = lease.Release()
			}
		}()
		t.Cleanup(func() { cancel(); <-done })
	}
	if _, err := client("10.0.0.3:15690").Election("scheduler:eu-central-1").Campaign(t.Context(), "https://scheduler-0.prod.eu-central-1.internal:15690"); err != nil {
		t.Fatal(err)
	}
	p.until("the locks", has("nightly")+" && "+has("scheduler"))
	for _, look := range []Look{{Width: 768, Height: 1024}, wide, {Width: 1920, Height: 1080}} {
		if err := look.As(p.ctx); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/locks", "/lock?name=" + long, "/processes", "/elections", "/events"} {
			p.to(path)
			p.until(path, "document.querySelector('.rows tbody tr')")
			for _, fault := range ask[[]string](p, broken) {
				t.Errorf("%s at %d pixels: %s", path, look.Width, fault)
			}
			if wider := ask[int](p, "document.scrollingElement.scrollWidth - innerWidth"); wider > 0 {
				t.Errorf("%s at %d pixels is %d pixels wider than the window", path, look.Width, wider)
			}
			p.shoot(look, path)
		}
	}
	if err := wide.As(p.ctx); err != nil {
		t.Fatal(err)
	}
	p.to("/locks")
	const cut = "[...document.querySelectorAll('td .cut')].find((e) => e.scrollWidth > e.clientWidth && e.innerText === " + `"` + owner + `")`
	p.until("an owner that is cut", cut)
	const shown = "document.querySelector('#whole:not([hidden])')?.innerText === " + `"` + owner + `"`
	if ask[bool](p, shown) {
		t.Error("all of it is shown before anybody asks")
	}
	at := ask[[]float64](p, "(() => { const b = ("+cut+").getBoundingClientRect(); return [b.left + 5, b.top + 5]; })()")
	p.moveTo(at[0], at[1])
	p.until("all of it under the pointer", shown)
	p.shoot(wide, "/locks-hover")
	p.moveTo(2, 2)
	p.until("no more", "!("+shown+")")
	for range 40 {
		p.do("go on", chromedp.KeyEvent("\t"))
		if ask[bool](p, "document.activeElement === ("+cut+")") {
			break
		}
	}
	p.until("all of it at the focus", shown)
	p.until("also after an update", "(window.before ??= document.querySelector('footer time').dateTime) !== document.querySelector('footer time').dateTime && "+shown)
	p.do("enough", chromedp.KeyEvent("\u001b"))
	p.until("no more", "!("+shown+")")
}

func (p *page) moveTo(x, y float64) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseMoved", X: x, Y: y}); err != nil {
		p.t.Fatal(err)
	}
}

// shoot keeps a picture if -shots says where.
func (p *page) shoot(look Look, path string) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		name, _, _ := strings.Cut(strings.Trim(path, "/"), "?")
		err = os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%d-%s.png", look.Width, name)), image, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// A page whose Redis hangs stays as it was, and says how old it is: a lease that was renewed on
// time does not run out in front of a reader only because nothing is known any more.
func TestOneMoment(t *testing.T) {
	redis, url, client := onRedis(t, &holdfast.Options{TTL: holdfast.DefaultTTL})
	lock(t, client("alice"), "invoice:42")
	p := openAt(t, url, "/lock?name=invoice:42", wide)
	p.until("the holder", has("held by alice"))
	if err := redis.Freeze(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = redis.Thaw() }()
	older := func(s int) string {
		return fmt.Sprintf(`parseFloat(document.querySelector('.marks time').textContent) >= %d && document.querySelector('.marks time').textContent.endsWith(' s ago')`, s)
	}
	const facts = "[...document.querySelectorAll('#main .fine, .facts dd')].map((e) => e.innerText).join(' | ') + document.querySelector('.ttl-bar').outerHTML"
	p.until("an old page", older(2))
	before := ask[string](p, facts)
	p.until("an older page", older(5))
	if after := ask[string](p, facts); after != before {
		t.Errorf("without news the page went from\n%s\nto\n%s", before, after)
	}
	if !strings.Contains(before, "ttl-bar ok") {
		t.Errorf("a lease that is renewed on time: %s", before)
	}
}
