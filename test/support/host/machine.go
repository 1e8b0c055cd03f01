// Package host says on which machine figures were measured, in the words that reports and
// pages have in common.
package host

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Describe is the processor, how many of it this program may use, and the system.
func Describe() string {
	text := fmt.Sprintf("%d cores", runtime.NumCPU())
	if model := value("/proc/cpuinfo", "model name"); model != "" {
		text += " of " + model
	}
	text += ", " + runtime.GOOS + "/" + runtime.GOARCH
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		text += ", kernel " + strings.TrimSpace(string(release))
	}
	return text
}

// WithServer is Describe, the redis-server in PATH, and Go.
func WithServer() string { return fmt.Sprintf("%s, %s, %s", Describe(), server(), runtime.Version()) }

// server is "Redis 7.0.15", or "Valkey 8.1.1".
func server() string {
	out, err := exec.Command("redis-server", "--version").Output()
	if err != nil {
		return "no redis-server"
	}
	name, rest, ok := strings.Cut(string(out), " server v=")
	if !ok {
		return "redis-server of another kind"
	}
	version, _, _ := strings.Cut(rest, " ")
	return name + " " + version
}

// value finds the first "name : value" line of a file, empty if there is none.
func value(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
