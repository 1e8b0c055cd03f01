package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value *string
	words []string
}

// newChoice sets value to the first word, the default.
func newChoice(value *string, words ...string) *choice {
	*value = words[0]
	return &choice{value, words}
}

func (c *choice) String() string { return *c.value }

func (c *choice) Type() string { return strings.Join(c.words, "|") }

func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("want %s", strings.Join(c.words, " or "))
	}
	*c.value = word
	return nil
}

// outputFlag gives cmd the flag -o.
func (a *app) outputFlag(cmd *cobra.Command) {
	cmd.Flags().VarP(newChoice(&a.output, "text", "json"), "output", "o", "output format")
}
