// Command screenshots makes the pictures of the dashboard, of a small shop at work
// whose locks are real.
//
//	go run ./internal/lab/dashboard/screenshots [-to docs/screenshots] [-for 90s]
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	lab "github.com/holdfast-go/holdfast/internal/lab/dashboard"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// picture is one to be made.
type picture struct {
	name, path string
	lab.Look
}

var (
	wide   = lab.Look{Width: 1280, Height: 800}
	narrow = lab.Look{Width: 390, Height: 844, Scale: 2}
)

// pages are where in the dashboard to go; the first few are for the README.
var pages = []struct{ name, path string }{
	{"overview", "/"},
	{"locks", "/locks"},
	{"lock", "/lock?name=sale:sneakers-42"},
	{"problems", "/problems"},
	{"processes", "/processes"},
	{"events", "/events"},
	{"elections", "/elections"},
	{"jobs", "/jobs"},
	{"redis", "/redis"},
}

func main() {
	to := flag.String("to", "docs/screenshots", "`directory` for the pictures")
	wait := flag.Duration("for", 90*time.Second, "how long the shop is open before")
	only := flag.String("only", "", "only pages whose names contain this")
	every := flag.Bool("all", false, "every page in light and dark, wide and narrow, not only those of the README")
	flag.Parse()
	if err := run(*to, *wait, *only, *every); err != nil {
		log.Fatal("screenshots: ", err)
	}
}

func chosen(only string, every bool) (pictures []picture) {
	for i, p := range pages {
		if !strings.Contains(p.name, only) {
			continue
		}
		for _, dark := range []bool{false, true} {
			for _, look := range []lab.Look{wide, narrow} {
				look.Dark = dark
				name := p.name
				if dark {
					name += "-dark"
				}
				if look.Width == narrow.Width {
					name += "-narrow"
				}
				readme := i < 4 && look.Width == wide.Width || i == 0
				if every || readme {
					pictures = append(pictures, picture{name, p.path, look})
				}
			}
		}
	}
	return pictures
}

func run(to string, wait time.Duration, only string, every bool) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	stage, err := lab.NewStage(&dashboard.Options{Authorize: dashboard.AllowAll}, true)
	if err != nil {
		return err
	}
	defer stage.Close()
	if err := stage.Play(); err != nil {
		return err
	}
	ctx, closeBrowser, err := lab.Browser(context.Background())
	if err != nil {
		return err
	}
	defer closeBrowser()
	// A page that is open keeps the dashboard looking.
	if err := chromedp.Do(ctx, chromedp.Navigate(stage.Server.URL+"/"), chromedp.Sleep(wait)); err != nil {
		return err
	}
	for _, p := range chosen(only, every) {
		if err := shoot(ctx, stage.Server.URL, filepath.Join(to, p.name+".png"), p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func shoot(ctx context.Context, base, file string, p picture) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := p.As(ctx); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(base+p.path), chromedp.Sleep(1500*time.Millisecond)); err != nil {
		return err
	}
	image, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(file, image, 0o644)
}
