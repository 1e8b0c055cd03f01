package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Browser starts Chromium without a window. The context is of its first tab. close
// ends the browser.
func Browser(parent context.Context) (ctx context.Context, closeBrowser func(), err error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, nil, fmt.Errorf("the dashboard is tested in Chromium: scripts/need chromium installs it: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(2*time.Minute), chromedp.DisableGPU)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to start otherwise
	}
	allocator, stop := chromedp.NewExecAllocator(parent, options...)
	ctx, cancel := chromedp.NewContext(allocator)
	closeBrowser = func() { cancel(); stop() }
	if err := chromedp.Do(ctx); err != nil {
		closeBrowser()
		return nil, nil, fmt.Errorf("start Chromium: %w", err)
	}
	return ctx, closeBrowser, nil
}

// Look is how a browser shows pages.
type Look struct {
	Width, Height int64
	Scale         float64
	Dark          bool
	Still         bool // without JavaScript
}

// As sets how the tab looks at pages.
func (l Look) As(ctx context.Context) error {
	theme := "light"
	if l.Dark {
		theme = "dark"
	}
	if l.Scale == 0 {
		l.Scale = 1
	}
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.Width, Height: l.Height, DeviceScaleFactor: l.Scale})
	if err != nil {
		return err
	}
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
	if err != nil {
		return err
	}
	_, err = chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.Still})
	return err
}
