package cli

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/spf13/cobra"
)

// Release is the version that the build of a release has set, see package main. Empty: what
// Go knows.
var Release string

// Build is what the binary knows about itself: all of it from the Go linker.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// ThisBuild asks the Go linker.
func ThisBuild() Build {
	b := Build{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(Release, info.Main.Version, b.Version)
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.time":
			b.Time = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// VersionCommand is 'holdfast version'.
func VersionCommand(a *App) *cobra.Command {
	cmd := a.Command("version", "Print the version", NoArgs, func(context.Context, []string) error { return PrintVersion(a) })
	a.OutputFlag(cmd)
	return cmd
}

// PrintVersion prints the version as text or JSON.
func PrintVersion(a *App) error {
	b := ThisBuild()
	return a.Print(b, func(s console.Screen) {
		s.Printf("holdfast %s (%s, %s/%s)\n", b.Version, b.Go, b.OS, b.Arch)
	})
}
