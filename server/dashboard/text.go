package dashboard

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// length is a duration for people: "4.2 s", "42 s", "12m 05s", "3h 20m", "2d 4h".
// times.js writes the same.
func length(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 0.0005:
		return "0 s"
	case s < 0.9995:
		return fmt.Sprintf("%.0f ms", s*1000)
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 59.5:
		return fmt.Sprintf("%.0f s", s)
	}
	whole := int64(math.Round(s))
	switch {
	case whole < 3600:
		return fmt.Sprintf("%dm %02ds", whole/60, whole%60)
	case whole < 48*3600:
		return fmt.Sprintf("%dh %02dm", whole/3600, whole/60%60)
	}
	return fmt.Sprintf("%dd %dh", whole/86400, whole/3600%24)
}

// stamp is a moment as a page shows it: how long ago, and in its title when.
type stamp struct {
	ISO   string
	Title string
	Text  string
}

func ago(t time.Time) *stamp {
	if t.IsZero() {
		return nil
	}
	since := time.Since(t)
	text := length(since) + " ago"
	if since < time.Second {
		text = "just now"
	}
	return &stamp{t.UTC().Format("2006-01-02T15:04:05.000Z"), t.UTC().Format("2006-01-02 15:04:05.000 UTC"), text}
}

// plural is "1 name", "2 names".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		what += "e"
	}
	return thousands(n) + " " + what + "s"
}

// thousands is a number with separators.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
