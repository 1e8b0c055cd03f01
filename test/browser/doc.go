// Package browser opens the server's dashboard in a real browser: Chromium, driven
// by chromedp. Its tests look at what only a browser shows; one of them makes the
// pictures of docs/screenshots. What works without JavaScript is tested beside the
// dashboard itself.
package browser
