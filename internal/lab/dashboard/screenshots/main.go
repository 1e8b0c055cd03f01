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
	"time"

	"github.com/chromedp/chromedp"
	lab "github.com/holdfast-go/holdfast/internal/lab/dashboard"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// pages are the pictures, and where in the dashboard to go for them.
var pages = []struct{ name, path string }{
	{"overview", "/"},
	{"lock", "/lock?name=sale:sneakers-42"},
}

func main() {
	to := flag.String("to", "docs/screenshots", "`directory` for the pictures")
	wait := flag.Duration("for", 90*time.Second, "how long the shop is open before")
	flag.Parse()
	if err := run(*to, *wait); err != nil {
		log.Fatal("screenshots: ", err)
	}
}

func run(to string, wait time.Duration) error {
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
	look := lab.Look{Width: 1280, Height: 800}
	if err := look.As(ctx); err != nil {
		return err
	}
	for _, p := range pages {
		if err := shoot(ctx, stage.Server.URL+p.path, filepath.Join(to, p.name+".png")); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func shoot(ctx context.Context, url, file string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url), chromedp.Sleep(1500*time.Millisecond)); err != nil {
		return err
	}
	image, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(file, image, 0o644)
}
