package help

import (
	"embed"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// texts has a file for each command, named by its path: what 'holdfast help COMMAND' says
// of it, and its examples after the line EXAMPLES. A line {{state}} stands for
// parts/state.txt, which several commands have in common.
//
//go:embed text
var texts embed.FS

var part = regexp.MustCompile(`(?m)^\{\{([a-z-]+)\}\}$`)

// describe gives cmd, and all commands below it, their texts.
func describe(cmd *cobra.Command) {
	if text := read(strings.ReplaceAll(TopicOf(cmd), " ", "-")); text != "" {
		cmd.Long, cmd.Example, _ = strings.Cut(text, "\n\nEXAMPLES\n")
	}
	for _, sub := range cmd.Commands() {
		describe(sub)
	}
}

// read is a text with its parts; empty: there is none, as for a hidden command.
func read(name string) string {
	text, err := texts.ReadFile("text/" + name + ".txt")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(part.ReplaceAllStringFunc(string(text), func(line string) string {
		return read("parts/" + strings.Trim(line, "{}"))
	}), "\n")
}
