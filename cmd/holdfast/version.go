package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is that of a release, which its build sets: -ldflags "-X main.version=v1.2.3".
// Empty: what Go knows.
var version string

// build is what the binary knows about itself: all of it from the Go linker.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(version, info.Main.Version, b.Version)
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

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version. With -o json print an object: version, revision, time, modified (of
the source, if known), go, os, arch.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
	a.outputFlag(cmd)
	return cmd
}

func (a *app) printVersion() error {
	b := thisBuild()
	if a.output == "json" {
		return printJSON(a.stdout, b)
	}
	_, err := fmt.Fprintf(a.stdout, "holdfast %s (%s, %s/%s)\n", b.Version, b.Go, b.OS, b.Arch)
	return err
}
